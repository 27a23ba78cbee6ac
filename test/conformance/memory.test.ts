import { memory } from "./engines.ts";
import { storeSuite } from "./store/suite.ts";

storeSuite(memory);
