/** The members of a flow from a file, in the format of the HTTP API. */
import type { FlowMemberInput } from "../../client/client.ts";
import { MillraceError } from "../../core/errors.ts";
import { memberError } from "../../core/flow-graph.ts";
import { parseJson, type TextPlace } from "../../core/json-source.ts";
import { inputCheck, namesOf } from "../../http/check-input.ts";
import { flowRoutes, type MemberInputWire } from "../../http/contract/flows.ts";
import { putTexts, type ReadBody } from "../../http/read-json.ts";
import { readMember } from "../../http/routes/new-flow.ts";
import { fieldOnTheWire, wordsWith } from "../../http/wire/values.ts";
import { CommandRefused } from "../exit-codes.ts";
import { readText } from "../job-input.ts";
import type { Session } from "../session.ts";

const { body, keepsText } = flowRoutes["POST /api/v1/flows"];
const PLACE: TextPlace = keepsText;

/** Reads a list of members. Payloads keep their text, so numbers are sent as they were written. */
export async function readFlowFile(file: string, session: Session): Promise<FlowMemberInput[]> {
  const isInput = file === "-";
  const name = isInput ? "stdin" : file;
  const read = readList(await readText(isInput ? file : `@${file}`, name, session), name);
  inputCheck(namesOf(body))(read.value);
  putTexts(read, PLACE);
  return (read.value as { members: MemberInputWire[] }).members.map((member, index) => {
    try {
      return readMember(member);
    } catch (error) {
      throw memberError(error, member.name, index);
    }
  });
}

function readList(json: string, name: string): ReadBody {
  try {
    const { value } = parseJson(json);
    if (Array.isArray(value)) return parseJson(`{"members":${json}}`, PLACE);
  } catch (error) {
    throw new CommandRefused(
      error instanceof MillraceError ? `${name}: ${error.message}` : `${name} must be JSON: ${(error as Error).message}`,
    );
  }
  throw new CommandRefused(`${name} must be a JSON list of members, each with a name and a type`);
}

/** What is wrong with a member, in the names of the file. */
export function inWordsOfFile(error: unknown): unknown {
  if (!(error instanceof MillraceError) || error.field === undefined) return error;
  const { code, message, field } = error;
  if (!field.startsWith("members[")) return error;
  const named = fieldOnTheWire(field);
  return new MillraceError(code, wordsWith(message, field, named), { field: named, cause: error });
}
