import type { Row } from "../row.js";
import { assemble } from "./assemble.js";
import { assembleLatency } from "./assemble-latency.js";
import { facade, nearEmpty } from "./boundary.js";
import { fromText, withVector } from "./classify-latency.js";
import { goodJs, pseudoCode } from "./classify-ratios.js";
import { density } from "./density.js";
import { embedding } from "./embedding.js";
import { growth } from "./growth.js";
import { markers } from "./markers.js";
import { request } from "./request.js";
import { scripts } from "./scripts.js";
import { similarity } from "./similarity.js";
import { threads } from "./threads.js";
import { tokens } from "./tokens.js";

/** The table of the speed issue, in its order. */
export const ROWS: readonly Row[] = [
  withVector,
  fromText,
  nearEmpty,
  pseudoCode,
  goodJs,
  markers,
  scripts,
  similarity,
  tokens,
  embedding,
  assemble,
  assembleLatency,
  request,
  facade,
  threads,
  density,
  growth,
];
