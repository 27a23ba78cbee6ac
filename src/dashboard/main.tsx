/** THE ENTRY of the page. */
import "./style.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { live } from "./live.ts";
import { queries } from "./queries.ts";
import { router } from "./router.tsx";
import { readSession } from "./session.ts";

const place = document.getElementById("page");
if (place === null) throw new Error('index.html has no element with the id "page"');

await readSession();
live.start();
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
