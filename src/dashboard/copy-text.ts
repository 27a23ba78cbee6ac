/** Copies text. Browsers have no clipboard on a page without https, but the old way still works there. */
import { toast } from "./toasts.ts";

export async function copyText(text: string, what: string): Promise<void> {
  try {
    if (window.isSecureContext) await navigator.clipboard.writeText(text);
    else copyTheOldWay(text);
    toast(`${what} copied`);
  } catch {
    toast(`${what} could not be copied: the browser does not allow it`, { kind: "failed" });
  }
}

function copyTheOldWay(text: string): void {
  const field = document.createElement("textarea");
  field.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  if (!isDone) throw new Error("refused");
}
