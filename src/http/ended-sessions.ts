/**
 * SESSIONS THAT WERE ENDED. A cookie is valid on every server until it expires. So that signing out ends it everywhere, every request
 * asks the store whether its session was ended. Open streams of a session are ended here.
 *
 * If the store does not answer, the request goes by what this process knows. It still shows nothing: all data is in that store. Every
 * request asks again, so that one slow answer does not admit later ones.
 */
import type { Marks } from "../client/client.ts";
import { atMost, type Clock, type Timer } from "../lib/clock.ts";

/** One sign-in: its name among the marks of the store, and when it expires. */
export interface Session {
  readonly name: string;
  readonly until: number;
}

export interface EndedSessionsOptions {
  /** Absent if the server has no store of its own: then only this process knows. */
  readonly marks: Marks | undefined;
  readonly clock: Clock;
}

/** The reason that streams of a session end with. */
export class SessionOver extends Error {
  override readonly name = "SessionOver";
}

/** How long a request waits for the store to say whether its session was ended. */
const MAX_WAIT_MS = 1000;
/** How often the store is asked about sessions with open streams. */
const LOOK_MS = 5000;

interface Stream {
  readonly session: Session;
  readonly end: (reason: SessionOver) => void;
}

export class EndedSessions {
  readonly #marks: Marks | undefined;
  readonly #clock: Clock;
  /** By name: when it expires. */
  readonly #ended = new Map<string, number>();
  readonly #streams = new Set<Stream>();
  #timer: Timer | null = null;

  constructor({ marks, clock }: EndedSessionsOptions) {
    this.#marks = marks;
    this.#clock = clock;
  }

  async isEnded(session: Session): Promise<boolean> {
    if (this.#ended.has(session.name)) return true;
    const [isEnded = false] = await this.#ask([session]);
    return isEnded;
  }

  /** Ends a session in all processes on the store. Rejects if the store fails. */
  async end(session: Session): Promise<void> {
    this.#note(session);
    this.#endStreams();
    await this.#marks?.mark(session.name, Math.max(1, session.until - this.#clock.now()));
  }

  /** Calls `end` once, when the session is over, unless the returned function was called before. */
  watch(session: Session, end: Stream["end"]): () => void {
    const stream = { session, end };
    this.#streams.add(stream);
    this.#lookLater();
    return () => {
      this.#streams.delete(stream);
      if (this.#streams.size > 0) return;
      this.#timer?.cancel();
      this.#timer = null;
    };
  }

  #note({ name, until }: Session): void {
    const now = this.#clock.now();
    for (const [other, over] of this.#ended) if (over <= now) this.#ended.delete(other);
    this.#ended.set(name, until);
  }

  #lookLater(): void {
    this.#timer ??= this.#clock.setTimer(() => {
      this.#timer = null;
      void this.#lookNow();
    }, LOOK_MS);
  }

  async #lookNow(): Promise<void> {
    const sessions = [...new Map([...this.#streams].map(({ session }) => [session.name, session])).values()];
    await this.#ask(sessions);
    this.#endStreams();
    if (this.#streams.size > 0) this.#lookLater();
  }

  #endStreams(): void {
    const now = this.#clock.now();
    for (const stream of this.#streams) {
      if (stream.session.until > now && !this.#ended.has(stream.session.name)) continue;
      this.#streams.delete(stream);
      stream.end(new SessionOver("the session has ended"));
    }
  }

  /** What the store says; all false if it does not answer in time. A late answer counts for later requests. */
  async #ask(sessions: readonly Session[]): Promise<boolean[]> {
    if (this.#marks === undefined || sessions.length === 0) return sessions.map(() => false);
    try {
      return (await atMost(this.#clock, MAX_WAIT_MS, this.#look(this.#marks, sessions))) ?? sessions.map(() => false);
    } catch {
      // The store reports its own errors.
      return sessions.map(() => false);
    }
  }

  async #look(marks: Marks, sessions: readonly Session[]): Promise<boolean[]> {
    const answers = await marks.marked(sessions.map(({ name }) => name));
    sessions.forEach((session, index) => answers[index] && this.#note(session));
    return answers;
  }
}
