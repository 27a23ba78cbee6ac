import { sqlite } from "./engines.ts";
import { storeSuite } from "./store/suite.ts";

storeSuite(sqlite());
