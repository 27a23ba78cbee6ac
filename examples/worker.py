"""A Millrace worker in Python that uses only the standard library.

    millrace server                                    # or: npx millrace server
    python3 examples/worker.py http://127.0.0.1:8080   # set MILLRACE_KEY if the server needs a key

Claims jobs with a long poll, renews their leases while they run, and reports their outcomes. At SIGTERM it finishes the current job.
A handler can do durable work: keep results of steps, sleep for days, and wait for a signal. Then it runs again from its beginning, and gets
back what it did before.
"""

import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

SERVER = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
KEY = os.environ.get("MILLRACE_KEY")
WORKER_ID = f"python-{uuid.uuid4()}"
LEASE_S = 30

stopping = threading.Event()


class Suspended(Exception):
    """The handler waits for something, so the attempt is over. The job runs again when that has ended."""

    def __init__(self, wait):
        super().__init__(wait["name"])
        self.wait = wait


class Durable:
    """What a handler keeps and waits for, by name. Each name may be used once in an attempt."""

    def __init__(self, lease, has_steps):
        self.lease = lease
        read = post("/api/v1/leases/steps/read", lease) if has_steps else {}
        self.steps = {step["name"]: step for step in read.get("steps", [])}

    def step(self, name, run):
        """Runs a function once, and stores what it returns: a later attempt gets that back."""
        stored = self.steps.get(name)
        if stored is not None:
            return stored.get("value")
        started = time.monotonic()
        value = run()
        step = {"name": name, "value": value, "run_ms": (time.monotonic() - started) * 1000}
        if not post("/api/v1/leases/steps", {**self.lease, "steps": [step]})["ok"]:
            raise RuntimeError(f"the lease is over: step {name} was not stored")
        return value

    def sleep(self, name, delay):
        if not self._has_ended(name):
            raise Suspended({"name": name, "kind": "sleep", "delay": delay})

    def wait_for(self, name, timeout):
        """The payload of the signal, or None at the timeout."""
        if not self._has_ended(name):
            raise Suspended({"name": name, "kind": "wait", "delay": timeout})
        return self.steps[name].get("value")

    def _has_ended(self, name):
        return name in self.steps and self.steps[name]["state"] != "open"


def shout(payload, _durable):
    return {"shouted": payload["text"].upper()}


def fail(payload, _durable):
    raise ValueError(f"cannot do anything with {payload!r}")


def onboard(payload, durable):
    account = durable.step("create account", lambda: {"id": f"{payload['user']}-{uuid.uuid4()}"})
    durable.sleep("a moment", "100ms")
    approval = durable.wait_for("approval", "7d")
    return {"account": account, "approved_by": approval["by"] if approval else None}


HANDLERS = {"python:shout": shout, "python:fail": fail, "python:onboard": onboard}


def post(path, body):
    """Sends and reads JSON. Repeats a request that may have been lost: every route used here allows that."""
    headers = {"Content-Type": "application/json", **({"X-API-Key": KEY} if KEY else {})}
    while True:
        request = urllib.request.Request(SERVER + path, json.dumps(body).encode(), headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 502, 503, 504):
                raise SystemExit(f"{path}: {error.read().decode()}") from error
            time.sleep(float(error.headers.get("Retry-After") or 1))
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(1)
        if stopping.is_set() and path == "/api/v1/leases":
            return {"jobs": []}


def keep(lease, done):
    """Renews the lease until the job is done. If the lease is lost, the server refuses our report."""
    while not done.wait(LEASE_S / 3):
        post("/api/v1/leases/extend", {"leases": [lease], "lease": f"{LEASE_S}s"})


def run(job):
    lease = {"id": job["id"], "fence": job["fence"]}
    done = threading.Event()
    threading.Thread(target=keep, args=(lease, done), daemon=True).start()
    try:
        result = HANDLERS[job["type"]](job["payload"], Durable(lease, job["has_steps"]))
        outcome = {"outcome": "completed", "result": result}
    except Suspended as suspended:
        outcome = {"outcome": "suspend", "waits": [suspended.wait]}
    except Exception as error:  # any exception fails the attempt, and the server decides whether to retry
        outcome = {"outcome": "failed", "error": {"name": type(error).__name__, "message": str(error)}}
    done.set()
    post("/api/v1/leases/settle", {"outcomes": [{**lease, **outcome}]})


def main():
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    print(f"{WORKER_ID} works for {SERVER}", flush=True)
    while not stopping.is_set():
        # It has no job now. With "holding": [], the server releases jobs that an earlier, lost answer contained.
        claim = {"worker_id": WORKER_ID, "types": list(HANDLERS), "limit": 1, "lease": f"{LEASE_S}s", "wait": "5s", "holding": []}
        for job in post("/api/v1/leases", claim)["jobs"]:
            run(job)


main()
