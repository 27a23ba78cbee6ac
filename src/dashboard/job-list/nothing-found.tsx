import { SearchX } from "lucide-react";
import type { ReactElement } from "react";
import { Empty } from "../parts/notices.tsx";

/** No job on this page matches the filters. `goesOn`: there are jobs that were not looked at. */
export function NothingFound({ goesOn }: { readonly goesOn: boolean }): ReactElement {
  return (
    <Empty icon={SearchX} title={goesOn ? "None so far" : "No matches"}>
      {goesOn ? "The search is not over. To look at more jobs after a stop, press Next." : "Remove a filter, or choose another time."}
    </Empty>
  );
}
