"""A Millrace worker in Python that uses only the standard library.

    millrace server                                    # or: npx millrace server
    python3 examples/worker.py http://127.0.0.1:8080   # set MILLRACE_KEY if the server needs a key

Claims jobs with a long poll, renews their leases while they run, and reports their outcomes. At SIGTERM it finishes the current job.
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


def shout(payload):
    return {"shouted": payload["text"].upper()}


def fail(payload):
    raise ValueError(f"cannot do anything with {payload!r}")


HANDLERS = {"python:shout": shout, "python:fail": fail}


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
        result = HANDLERS[job["type"]](job["payload"])
        outcome = {"outcome": "completed", "result": result}
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
