import { useEffect } from "react";

/** Sets the title of the browser tab while the component is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Millrace`;
    return () => {
      document.title = "Millrace";
    };
  }, [title]);
}
