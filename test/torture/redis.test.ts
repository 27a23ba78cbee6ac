import { tortureSuite } from "./torture-suite.ts";

tortureSuite("redis");
