import { tortureSuite } from "./torture-suite.ts";

tortureSuite("sqlite");
