import { type ReactElement, useState } from "react";
import { SelectField } from "./parts/field.tsx";

/** For how long an error can be muted; "" is until somebody unmutes it. */
const TIMES = [
  ["1h", "1 hour"],
  ["24h", "24 hours"],
  ["7d", "7 days"],
  ["", "Until somebody unmutes it"],
] as const;
export type MuteTime = (typeof TIMES)[number][0];

interface MuteQuestionProps {
  readonly first: MuteTime;
  readonly onChange: (chosen: MuteTime) => void;
}

/** What muting means, and for how long. */
export function MuteQuestion({ first, onChange }: MuteQuestionProps): ReactElement {
  const [time, setTime] = useState<MuteTime>(first);
  return (
    <div className="space-y-3">
      <p>Its jobs stay dead letters. They are listed last, and raise no alarm and no notification.</p>
      <SelectField
        label="For how long"
        value={time}
        options={TIMES}
        onChange={(value) => {
          const chosen = value as MuteTime;
          setTime(chosen);
          onChange(chosen);
        }}
      />
    </div>
  );
}
