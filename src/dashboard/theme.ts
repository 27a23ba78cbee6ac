/** Dark, light, or the theme of the system. */
import { useEffect } from "react";
import { usePreference } from "./preferences.ts";

export const THEMES = ["dark", "light", "system"] as const;
export type Theme = (typeof THEMES)[number];

const systemIsLight = matchMedia("(prefers-color-scheme: light)");

/** The chosen theme; keeps the page in its colours. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = usePreference("theme");
  useEffect(() => {
    const apply = (): void => {
      const isLight = theme === "light" || (theme === "system" && systemIsLight.matches);
      document.documentElement.dataset["theme"] = isLight ? "light" : "dark";
      // Charts are drawn, not styled: they must be redrawn.
      dispatchEvent(new Event("millrace:theme"));
    };
    apply();
    systemIsLight.addEventListener("change", apply);
    return () => systemIsLight.removeEventListener("change", apply);
  }, [theme]);
  return [theme, setTheme];
}
