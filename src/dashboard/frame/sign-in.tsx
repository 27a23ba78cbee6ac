import { KeyRound, LogIn } from "lucide-react";
import { type FormEvent, type ReactElement, useState } from "react";
import { Button } from "../parts/button.tsx";
import { TextField } from "../parts/field.tsx";
import { messageOf } from "../parts/notices.tsx";
import { adoptKey, session, signedOutOnlyHere, signIn as signInWith, storedKey } from "../session.ts";
import { useTitle } from "../title.ts";
import { useWatched } from "../use-watched.ts";
import { Mark } from "./nav.tsx";

/** Shown instead of the page while you must sign in. */
export function SignIn(): ReactElement {
  const { signIn } = useWatched(session);
  const hasUsers = signIn === "password";
  const [byKey, setByKey] = useState(!hasUsers);
  useTitle("Sign in");
  return (
    <main className="grid min-h-dvh place-items-center p-4">
      <div className="w-full max-w-sm rounded-xl border bg-card p-6">
        <div className="mb-5 flex items-center gap-2.5">
          <Mark />
          <h1 className="text-lg font-semibold tracking-tight">Sign in to Millrace</h1>
        </div>
        {signedOutOnlyHere() && (
          <p role="status" className="mb-5 text-muted-foreground">
            You are signed out here. The store did not answer, so the session stays valid on other servers for up to 24 h.
          </p>
        )}
        {signIn === "application" ? (
          <p className="text-muted-foreground">Sign in to your application, then load this page again.</p>
        ) : byKey ? (
          <KeyForm />
        ) : (
          <PasswordForm />
        )}
        {hasUsers && (
          <button type="button" onClick={() => setByKey(!byKey)} className="mt-4 text-primary underline underline-offset-2">
            {byKey ? "Use a user name and password" : "Use an API key"}
          </button>
        )}
      </div>
    </main>
  );
}

function KeyForm(): ReactElement {
  const [key, setKey] = useState("");
  const wasRefused = storedKey() !== undefined;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (key.trim() !== "") adoptKey(key.trim());
  };
  return (
    <form onSubmit={submit} className="space-y-4">
      <TextField
        label="API key"
        type="password"
        autoComplete="off"
        autoFocus
        value={key}
        onChange={setKey}
        problem={wasRefused && key === "" ? "The server refused the last key." : undefined}
        hint="It is kept for this tab only. The scope read lets you look; admin lets you make changes, and enqueue lets you enqueue jobs as well."
      />
      <Button type="submit" look="primary" icon={KeyRound} className="w-full">
        Use this key
      </Button>
    </form>
  );
}

function PasswordForm(): ReactElement {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      if (await signInWith(username, password)) location.reload();
      else setProblem("Wrong user name or password.");
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="space-y-4">
      <TextField label="User name" autoComplete="username" autoFocus value={username} onChange={setUsername} />
      <TextField
        label="Password"
        type="password"
        autoComplete="current-password"
        value={password}
        onChange={setPassword}
        problem={problem}
      />
      <Button type="submit" look="primary" icon={LogIn} disabled={isBusy} className="w-full">
        Sign in
      </Button>
    </form>
  );
}
