/** THE DASHBOARD of a server: its page and its sign-in. The page gets its data from the public routes. */
import type { Answer, Call } from "./call.ts";
import type { SignIn } from "./sign-in.ts";
import type { StaticPage } from "./static.ts";

export class Dashboard {
  readonly signIn: SignIn;
  readonly #page: StaticPage;

  constructor(signIn: SignIn, page: StaticPage) {
    this.signIn = signIn;
    this.#page = page;
  }

  /** Answers a call for a path below `…/dashboard`. HTTP Basic credentials sign the caller in. */
  async answer(below: string, call: Call): Promise<Answer> {
    // Shared caches keep assets: they must not carry a cookie.
    if (below.startsWith("/assets/")) return this.#page.answer(below, call);
    const signedIn = this.signIn.openBasic(call);
    const answer = await this.#page.answer(below, call);
    return signedIn === null ? answer : { ...answer, headers: { ...answer.headers, "Set-Cookie": signedIn.cookie } };
  }
}
