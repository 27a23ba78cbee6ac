import { sqliteStore } from "../conformance/client-sources.ts";
import { numbersSuite } from "./suite.ts";

numbersSuite({ engine: "sqlite", fresh: sqliteStore, runs: 12 });
