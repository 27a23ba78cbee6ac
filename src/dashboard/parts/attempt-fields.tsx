import type { ReactElement } from "react";
import { MAX_RETRIES } from "../../core/attempt-options.ts";
import { TextField } from "./field.tsx";

/** The options of attempts: each is a text in its form. */
export type AttemptField = "maxRetries" | "retryDelay" | "backoff" | "timeout" | "maxLost";

interface AttemptFieldsProps {
  readonly field: (name: AttemptField) => { value: string; onChange: (value: string) => void; problem?: string | undefined };
  /** Whether they are the defaults of a queue. Empty then means: not set. */
  readonly areDefaults?: boolean;
}

/** How often and when a job is tried. Empty means the default. */
export function AttemptFields({ field, areDefaults = false }: AttemptFieldsProps): ReactElement {
  const named = (name: AttemptField, label: string, usual: string) => ({
    label: areDefaults ? `Default ${label.toLowerCase()}` : label,
    placeholder: areDefaults ? "not set" : usual,
    ...field(name),
  });
  const lost = `How often a job runs again after its worker died or was cut off: 0 to ${MAX_RETRIES}.`;
  return (
    <>
      <TextField inputMode="numeric" {...named("maxRetries", "Retries", "3")} hint={`0 to ${MAX_RETRIES}.`} />
      <TextField {...named("retryDelay", "Retry delay", "1s")} hint="Before the first retry, such as 10s." />
      <TextField {...named("backoff", "Backoff", "exponential")} hint="exponential, fixed, or the name of a function of your workers." />
      <TextField {...named("timeout", "Timeout", "30s")} hint="Per attempt; 0 for none." />
      <TextField
        inputMode="numeric"
        {...named("maxLost", "Max lost attempts", "3")}
        hint={areDefaults ? lost : `${lost} Default: 3, or 0 without retries.`}
      />
    </>
  );
}
