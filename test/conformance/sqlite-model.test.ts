import { sqlite } from "./engines.ts";
import { modelSuite } from "./model/model.ts";

// What a power cut leaves is not tried here, so the disk need not be waited for.
modelSuite(sqlite("?synchronous=normal"));
