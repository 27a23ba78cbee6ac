/** What routes about leases have in common. */
import { Id } from "./schemas.ts";
import { Type } from "./type.ts";

/** Whole numbers that JavaScript keeps as they are. */
export const EXACT = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** The fields that name a lease. */
export const LEASE = { id: Id, fence: Type.Integer({ ...EXACT, description: "the fence that came with the job" }) };

export const INPUT_PROBLEMS = ["invalid_input", "malformed_body", "body_too_large", "unsupported_media_type"] as const;
