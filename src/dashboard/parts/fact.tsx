/** A line of the fields of something: name and value. */
import type { ReactElement, ReactNode } from "react";
import { NOTHING } from "../format.ts";
import { Ago, Moment } from "./time.tsx";

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactElement {
  return (
    <div className="flex min-h-7.5 items-center justify-between gap-4 border-b py-0.5 last:border-b-0">
      <dt className="shrink-0 text-muted-foreground">{name}</dt>
      <dd className="min-w-0 text-right">{children ?? <span className="text-muted-foreground">{NOTHING}</span>}</dd>
    </div>
  );
}

export function TimeFact({ name, at }: { readonly name: string; readonly at: number | null }): ReactElement {
  return (
    <Fact name={name}>
      {at === null ? null : (
        <>
          <Moment at={at} /> <span className="ml-1 inline-block min-w-16 text-muted-foreground">{<Ago at={at} />}</span>
        </>
      )}
    </Fact>
  );
}
