import { clientSuite } from "./client.ts";
import { localSource, sqliteStore, remoteSource } from "./client-sources.ts";

clientSuite(localSource("sqlite", sqliteStore));
clientSuite(remoteSource("sqlite", sqliteStore));
