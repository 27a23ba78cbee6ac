/** Form fields: each with its label, a hint, and what is wrong with it. */
import { type InputHTMLAttributes, type ReactElement, type ReactNode, useId } from "react";

const BOX = "w-full rounded-md border border-input bg-card px-2.5 aria-invalid:border-destructive";

interface FieldWords {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly problem?: string | undefined;
}

function Field({
  label,
  hint,
  problem,
  children,
}: FieldWords & {
  readonly children: (ids: { id: string; "aria-describedby": string; "aria-invalid": boolean }) => ReactElement;
}): ReactElement {
  const id = useId();
  const words = `${id}-words`;
  return (
    <div className="min-w-0 space-y-1">
      <label htmlFor={id} className="block font-medium">
        {label}
      </label>
      {children({ id, "aria-describedby": words, "aria-invalid": problem !== undefined })}
      <div id={words} className="text-xs empty:hidden">
        {problem !== undefined ? (
          <span className="text-destructive">{problem}</span>
        ) : (
          <span className="text-muted-foreground">{hint}</span>
        )}
      </div>
    </div>
  );
}

interface TextFieldProps extends FieldWords, Omit<InputHTMLAttributes<HTMLInputElement>, "onChange" | "value"> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly mono?: boolean;
  /** Has the focus when the dialog around it opens. */
  readonly first?: boolean;
}

export function TextField({ label, hint, problem, onChange, mono = false, first = false, ...rest }: TextFieldProps): ReactElement {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(ids) => (
        <input
          type="text"
          spellCheck={false}
          data-first={first ? "" : undefined}
          {...rest}
          {...ids}
          onChange={(event) => onChange(event.target.value)}
          className={`h-8 ${BOX} ${mono ? "font-mono text-xs" : ""}`}
        />
      )}
    </Field>
  );
}

interface TextAreaProps extends FieldWords {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly rows?: number;
  readonly placeholder?: string;
  /** Why the form cannot be sent with this text. */
  readonly refuses?: string | undefined;
}

/** Many lines of text, for JSON. */
export function TextArea({ label, hint, problem, value, onChange, rows = 8, placeholder, refuses = "" }: TextAreaProps): ReactElement {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(ids) => (
        <textarea
          {...ids}
          ref={(area) => area?.setCustomValidity(refuses)}
          value={value}
          rows={rows}
          placeholder={placeholder}
          spellCheck={false}
          dir="ltr"
          onChange={(event) => onChange(event.target.value)}
          className={`resize-y py-2 font-mono text-xs ${BOX}`}
        />
      )}
    </Field>
  );
}

interface SelectFieldProps extends FieldWords {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly (readonly [value: string, words: string])[];
}

export function SelectField({ label, hint, problem, value, onChange, options }: SelectFieldProps): ReactElement {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(ids) => (
        <select {...ids} value={value} onChange={(event) => onChange(event.target.value)} className={`h-8 pr-7 ${BOX}`}>
          {options.map(([option, words]) => (
            <option key={option} value={option}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface CheckFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function CheckField({ label, hint, checked, onChange }: CheckFieldProps): ReactElement {
  return (
    <label className="flex items-start gap-2 py-1">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} className="mt-0.5" />
      <span>
        <span className="block font-medium">{label}</span>
        {hint !== undefined && <span className="block text-xs text-muted-foreground">{hint}</span>}
      </span>
    </label>
  );
}
