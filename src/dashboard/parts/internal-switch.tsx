import type { ReactElement } from "react";

interface InternalSwitchProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly title?: string;
}

/** Includes internal jobs or workers. */
export function InternalSwitch({
  checked,
  onChange,
  title = "Include webhook deliveries and bulk operations",
}: InternalSwitchProps): ReactElement {
  return (
    <label title={title} className="inline-flex h-8 items-center gap-2 px-1 whitespace-nowrap">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      Internal
    </label>
  );
}
