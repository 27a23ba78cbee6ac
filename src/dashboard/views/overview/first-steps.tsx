import { Plus, Rocket } from "lucide-react";
import type { ReactElement } from "react";
import { overlay } from "../../overlay.ts";
import { CopyButton } from "../../parts/bits.tsx";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Empty } from "../../parts/notices.tsx";
import { API_URL } from "../../places.ts";
import { useIsOperator } from "../../session.ts";

const SNIPPETS = [
  [
    "TypeScript",
    `import { connect } from "millrace";

const client = await connect("${API_URL.href.replace(/\/$/, "")}");
await client.enqueue("hello:world", { from: "a program" });`,
  ],
  [
    "curl",
    `curl ${API_URL.href}api/v1/jobs \\
  --header 'Content-Type: application/json' \\
  --data '{"type":"hello:world","payload":{"from":"curl"}}'`,
  ],
  ["Command line", `millrace enqueue hello:world '{"from":"a terminal"}' --url ${API_URL.href.replace(/\/$/, "")}`],
] as const;

/** Shown on the overview until the first job is enqueued. */
export function FirstSteps(): ReactElement {
  const isOperator = useIsOperator();
  return (
    <Card>
      <Empty
        icon={Rocket}
        title="No jobs yet"
        action={
          isOperator && (
            <Button
              look="primary"
              icon={Plus}
              onClick={() => overlay.set({ kind: "enqueue", draft: { type: "hello:world", payload: '{ "from": "the dashboard" }' } })}
            >
              Enqueue a sample job
            </Button>
          )
        }
      >
        Enqueue the first one {isOperator && "here, or "}from your program. It appears on this page at once.
      </Empty>
      <div className="mx-auto grid max-w-4xl grid-cols-[minmax(0,1fr)] gap-3 pb-6">
        {SNIPPETS.map(([name, text]) => (
          <figure key={name} className="rounded-lg border bg-background">
            <figcaption className="flex items-center justify-between border-b py-0.5 pr-1 pl-3 text-xs font-medium text-muted-foreground">
              {name}
              <CopyButton text={text} what={`the ${name} snippet`} />
            </figcaption>
            <pre tabIndex={0} className="overflow-x-auto p-3 font-mono text-xs">
              {text}
            </pre>
          </figure>
        ))}
      </div>
    </Card>
  );
}
