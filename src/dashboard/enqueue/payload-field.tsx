/** THE PAYLOAD: a form where its schema is known, with a switch to JSON; otherwise JSON. */
import { type ReactElement, useState } from "react";
import type { Issue } from "../../core/errors.ts";
import type { JsonSchema } from "../../core/payload-schema.ts";
import { DEFAULT_QUEUE } from "../../core/queue.ts";
import { SelectField, TextArea, TextField } from "../parts/field.tsx";
import { useHandledTypes } from "../queries.ts";
import { fieldsOf, type FormField, type FormPayload, formSchema, readPayload, shownAt, withField } from "./payload-form.ts";

interface PayloadFieldProps {
  /** JSON. */
  readonly text: string;
  readonly onChange: (text: string) => void;
  /** Null if it is not known. */
  readonly schema: JsonSchema | null;
  readonly problem: string | undefined;
  /** What a server refused, by place. */
  readonly issues: readonly Issue[];
  readonly rows: number;
  readonly hint?: string;
}

/** The schema that workers publish for a type; null if there is none. An empty queue means the default. */
export function usePublishedSchema(type: string, queue: string): JsonSchema | null {
  const { data: handled = [] } = useHandledTypes();
  return formSchema(handled, type.trim(), queue.trim() === "" ? DEFAULT_QUEUE : queue.trim());
}

export function PayloadField(props: PayloadFieldProps): ReactElement {
  const { text, onChange, schema, problem, issues, rows, hint = "Any JSON, up to 1 MiB." } = props;
  const [isJson, setJson] = useState(false);
  const fields = schema === null ? null : fieldsOf(schema);
  // The form as it was left, while the text is the one that it made: it also knows what is not JSON yet.
  const [left, setLeft] = useState<FormPayload>();
  const payload = left?.text === text ? left : readPayload(text);
  const hasForm = fields !== null && fields.length > 0;
  const isForm = hasForm && payload !== undefined && !isJson;
  const set = (field: FormField, shown: string): void => {
    const next = withField(payload!, field, shown);
    setLeft(next);
    onChange(next.text);
  };
  return (
    <div className="space-y-3">
      {hasForm && (
        <div className="flex items-center justify-between">
          <span className="font-medium">{isForm && "Payload"}</span>
          <div role="group" aria-label="How to edit the payload" className="flex gap-0.5 rounded-md bg-muted p-0.5">
            {["Form", "JSON"].map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={isForm === (name === "Form")}
                disabled={name === "Form" && payload === undefined}
                onClick={() => setJson(name === "JSON")}
                className="h-6 rounded px-2 text-xs text-muted-foreground aria-pressed:bg-accent aria-pressed:text-foreground"
              >
                {name}
              </button>
            ))}
          </div>
        </div>
      )}
      {isForm ? (
        <>
          <div role="group" aria-label="Payload" className="grid gap-4 sm:grid-cols-2">
            <Fields fields={fields} payload={payload} set={set} issues={issues} />
          </div>
          {problem !== undefined && <p className="text-xs text-destructive">{problem}</p>}
        </>
      ) : (
        <TextArea label="Payload" rows={rows} value={text} onChange={onChange} problem={problem} hint={hint} />
      )}
    </div>
  );
}

interface FieldsProps {
  readonly fields: readonly FormField[];
  readonly payload: FormPayload;
  readonly set: (field: FormField, shown: string) => void;
  readonly issues: readonly Issue[];
}

function Fields({ fields, ...rest }: FieldsProps): ReactElement {
  return (
    <>
      {fields.map((field) =>
        field.kind === "group" ? (
          <fieldset key={field.path.join("/")} className="grid gap-4 rounded-md border p-3 sm:col-span-2 sm:grid-cols-2">
            <legend className="px-1 font-medium">{field.label}</legend>
            <Fields fields={field.fields} {...rest} />
          </fieldset>
        ) : (
          <OneField key={field.path.join("/")} field={field} {...rest} />
        ),
      )}
    </>
  );
}

function OneField({ field, payload, set, issues }: Omit<FieldsProps, "fields"> & { readonly field: FormField }): ReactElement {
  const shown = shownAt(payload, field);
  const { kind, label, hint, choices } = field;
  const words = { label, hint, problem: problemOf(field, issues) };
  const onChange = (value: string): void => set(field, value);
  if (kind === "json") return <JsonField {...words} shown={shown} onChange={onChange} />;
  if (kind !== "choice")
    return <TextField {...words} value={shown} onChange={onChange} inputMode={kind === "number" ? "decimal" : "text"} />;
  const options = choices.map((choice) => [JSON.stringify(choice), String(choice)] as const);
  const others = shown === "" || options.some(([value]) => value === shown) ? [] : [[shown, shown] as const];
  return <SelectField {...words} value={shown} onChange={onChange} options={[["", "not set"], ...options, ...others]} />;
}

interface JsonFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly problem: string | undefined;
  readonly shown: string;
  readonly onChange: (text: string) => void;
}

/** Until it is JSON, the form cannot be sent. */
function JsonField({ shown, onChange, hint, problem, label }: JsonFieldProps): ReactElement {
  const invalid = shown.trim() === "" || isJsonText(shown) ? undefined : "Not JSON";
  return (
    <div className="sm:col-span-2">
      <TextArea
        label={label}
        rows={3}
        value={shown}
        onChange={onChange}
        problem={invalid ?? problem}
        refuses={invalid}
        hint={`${hint} JSON.`.trim()}
      />
    </div>
  );
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Of a JSON field also what is wrong within it. */
function problemOf({ path }: FormField, issues: readonly Issue[]): string | undefined {
  const field = ["payload", ...path].join(".");
  const [issue] = issues.filter((each) => each.field === field || each.field.startsWith(`${field}.`) || each.field.startsWith(`${field}[`));
  if (issue === undefined) return undefined;
  return issue.field === field ? `This ${issue.message}` : `${issue.field.slice("payload.".length)} ${issue.message}`;
}
