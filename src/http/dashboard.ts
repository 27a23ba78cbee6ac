/** THE DASHBOARD of a server: its page, and who signs in to it. What the page shows comes by the routes that everybody has. */
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

  /** Answers a call for what stands after `…/dashboard`. Whoever sends HTTP Basic with it is signed in. */
  async answer(below: string, call: Call): Promise<Answer> {
    // Those are kept by caches that others use, too: no place for a cookie.
    if (below.startsWith("/assets/")) return this.#page.answer(below, call);
    const signedIn = this.signIn.openBasic(call);
    const answer = await this.#page.answer(below, call);
    return signedIn === null ? answer : { ...answer, headers: { ...answer.headers, "Set-Cookie": signedIn.cookie } };
  }
}
