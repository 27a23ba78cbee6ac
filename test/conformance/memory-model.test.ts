import { memory } from "./engines.ts";
import { modelSuite } from "./model/model.ts";

modelSuite(memory);
