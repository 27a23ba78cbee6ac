import { clientSuite } from "./client.ts";
import { localSource, memoryStore, remoteSource } from "./client-sources.ts";

clientSuite(localSource("memory", memoryStore));
clientSuite(remoteSource("memory", memoryStore));
