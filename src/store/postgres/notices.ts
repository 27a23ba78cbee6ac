/** Notices <-> texts. */
import type { Notice } from "../../core/steps.ts";
import { decodeText, encodeText } from "./codec.ts";

/** The name of a step or member is written as `change` writes it, which has it from the rare fields of a job. */
export function encodeNotice(notice: Notice): string {
  return JSON.stringify(notice.kind === "end" ? { kind: "end", end: { ...notice.end, name: encodeText(notice.end.name) } } : notice);
}

export function readNotice(text: string): Notice {
  const notice = JSON.parse(text) as Notice;
  return notice.kind === "end" ? { kind: "end", end: { ...notice.end, name: decodeText(notice.end.name) } } : notice;
}
