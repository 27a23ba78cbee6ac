import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import type { ReactElement } from "react";
import { Empty } from "../parts/notices.tsx";

/** An address that leads nowhere. */
export function Lost(): ReactElement {
  return (
    <Empty icon={Compass} title="There is no such page">
      <Link to="/" className="text-primary underline underline-offset-2">
        Go to the overview
      </Link>
    </Empty>
  );
}
