import type { ReactElement } from "react";

const HEIGHT = 20;
const BAR = 4;

interface SparklineProps {
  /** One for each hour, the earliest first. */
  readonly values: readonly number[];
  /** What it shows, with its numbers, for screen readers and as a tooltip. */
  readonly label: string;
}

/** Small bars, as high as their share of the largest. An hour with nothing has a thin line, so that one sees where it is. */
export function Sparkline({ values, label }: SparklineProps): ReactElement {
  const most = Math.max(1, ...values);
  return (
    <svg role="img" aria-label={label} width={values.length * BAR} height={HEIGHT} className="shrink-0">
      <title>{label}</title>
      {values.map((value, hour) => {
        const height = value === 0 ? 1 : Math.max(3, Math.round((value / most) * HEIGHT));
        const colour = value === 0 ? "fill-muted-foreground/40" : "fill-dead";
        return <rect key={hour} x={hour * BAR} y={HEIGHT - height} width={BAR - 1} height={height} className={colour} />;
      })}
    </svg>
  );
}
