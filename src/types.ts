/**
 * The public vocabulary: what goes in and what comes out of an engine. Nothing here decides anything; every rule, default
 * and threshold lives in the Rust core.
 */

/** The five conversational intents (SPEC-028 §5.1). */
export type Intent = "EXPLORE" | "DRILL_DOWN" | "CLARIFY" | "CONTINUE" | "TOOL_REFERENCE";

/** The five classes of referential expression (SPEC-028 §4.1). */
export type ReferenceType = "entity" | "turn" | "ordinal" | "action" | "tool";

/** `default` is what labelled data shows is better; `spec` is the document's pseudo-code to the letter. */
export type Profile = "default" | "spec";

/** `CRP-Context-Mode` (SPEC-028 §7.5); `auto` picks hybrid when a document is requested inside a conversation (G-51). */
export type Mode = "conversation" | "document" | "hybrid" | "auto";

/** P persistent knowledge, C conversation, E ephemeral tool output (SPEC-028 §2.1). */
export type Tier = "P" | "C" | "E";

/** What Tier P does with novelty this turn (SPEC-028 §5.1). */
export type Novelty = "on" | "off" | "partial";

/** Weights of the three tiers, each in [0, 1], summing to 1 ± 1e-6. */
export type Blend = Record<Tier, number>;

/**
 * How the turn was filed: `join` = similar enough to claim the active thread, `stay` = nothing says it left it,
 * `resume` = back to a dormant thread, `new` = a thread of its own (G-17).
 */
export type ThreadEvent = "join" | "stay" | "resume" | "new";

/** Who speaks in a Chat Completions message. */
export type Role = "system" | "developer" | "user" | "assistant" | "tool";

/** A Chat Completions message, as clients send it. Of content parts only the text is read. */
export interface Message {
  role: Role;
  content?: string | null | ReadonlyArray<{ type: string; text?: string; [key: string]: unknown }> | undefined;
  /** The speaker; user turns with different names in one session are threaded each on their own. */
  name?: string | undefined;
  tool_calls?: ReadonlyArray<ToolCall> | undefined;
  tool_call_id?: string | undefined;
  /** Host's own id: appending the same id twice is one turn. */
  id?: string | undefined;
}

export interface ToolCall {
  id: string;
  type?: "function" | undefined;
  function: { name: string; arguments: string };
}

/** What `append` takes beside a Chat Completions message. */
export interface AppendMessage extends Message {
  /** Unit or not, of the session's dimension; refused when it does not fit the session's embedding (G-56). */
  vector?: Float32Array | undefined;
  /** Named entities the host knows of; without them they are extracted (G-33). */
  entities?: readonly string[] | undefined;
  /** For `tool` messages: how fast the output goes stale (R029-5). */
  volatility?: Volatility | undefined;
  /** For `tool` messages: ISO 8601 duration or milliseconds, instead of the class's; 0 = stale at once, "session" = never. */
  ttl?: string | number | undefined;
  /** For `tool` messages: never evicted, exempt from staleness (R029-8). */
  pinned?: boolean | undefined;
  /** Milliseconds since the epoch; the engine's clock when absent. */
  timestamp?: number | undefined;
}

/** Volatility classes and their lifetimes: 30 s, 5 min, 1 h, the session (R029-5). */
export type Volatility = "REALTIME" | "VOLATILE" | "STABLE" | "STATIC";

export type AppendResult =
  | { turnId: number; scratchId?: undefined; refiled?: Refiled | undefined }
  | { scratchId: string; turnId?: undefined; refiled?: undefined }
  | { turnId?: undefined; scratchId?: undefined; refiled?: undefined };

/**
 * A user turn whose answer showed that it belongs to another thread than the one it was filed in: it was moved, and the answer
 * with it.
 */
export interface Refiled {
  turnId: number;
  /** The thread it was filed in. Of one that it had opened, the id stands for the other from now on. */
  from: string;
  /** The thread it is in now. */
  thread: string;
}

export type Target = { kind: "turn"; id: number } | { kind: "scratch"; id: string } | { kind: "fact"; id: string };

/** One row of a tool result: its 0-based index among its siblings and its exact text. */
export interface Row {
  index: number;
  text: string;
}

/** A referential expression of the turn and what it points at (SPEC-028 §4). */
export interface Reference {
  /** The expression, as written. */
  text: string;
  /** Start and end of `text` in the turn, UTF-16 units. */
  span: [number, number];
  type: ReferenceType;
  /** Null when nothing earlier fits: an honest abstention, with `reason` saying why. */
  target: Target | null;
  /** 1-based positions into the target's enumeration. */
  items: number[];
  /** Text of those items. */
  itemTexts: string[];
  /** Rows of a tool result. */
  rows: Row[];
  /** In [0, 1]. */
  confidence: number;
  reason: string;
  /** Further targets, best first. */
  alternatives: Target[];
}

export interface ThreadDecision {
  /** A header-safe slug (G-58), stable for the life of the thread. */
  id: string;
  event: ThreadEvent;
  /** Calibrated similarity to that thread, on the scale of the 0.70 / 0.50 thresholds. */
  similarity: number;
}

/** What the turn asks for once its references and ellipsis are filled in; Tier P and the log are searched with it. */
export interface Query {
  /** The turn's own words and the antecedents' content words. */
  text: string;
  /** Content words, case-folded, the turn's own first. */
  terms: string[];
  /** Turns whose terms and vectors it carries. */
  turns: number[];
}

/** Where the similarity of this turn came from. */
export type SimilaritySource = "embedding" | "lexical" | "none";

/** What `classify` returns. */
export interface Classification {
  intent: Intent;
  /** In [0, 1]; unresolved candidates lower it (G-16). */
  confidence: number;
  /** Why this intent, in words. */
  reason: string;
  references: Reference[];
  /** The turn is grammatically incomplete and is completed from the log. */
  ellipsis: boolean;
  /** The turn it answers or extends. */
  carriesOver: number | null;
  /** False = understandable without the log: a cache may key on the text alone. */
  contextDependent: boolean;
  /** Hash of what the turn depends on: key a cache on it together with the text. Empty when it depends on nothing. */
  contextHash: string;
  /** The turn asks for a piece of writing. */
  documentRequest: boolean;
  thread: ThreadDecision;
  blend: Blend;
  novelty: Novelty;
  /** Maximum calibrated similarity to the active thread's turns (SPEC-028 §5.2); 0 for an empty thread (G-20). */
  similarity: number;
  similaritySource: SimilaritySource;
  /** Marker pack used, e.g. "en"; "und" = structure and similarity only. */
  locale: string;
  query: Query;
}

export type ItemKind = "turn" | "fact" | "scratch" | "summary";

/** One packed item, in the order it is rendered. */
export interface EnvelopeItem {
  tier: Tier;
  kind: ItemKind;
  /** Turn id, scratch id, fact id, or the thread's slug for the Active Thread Summary. */
  id: number | string;
  role: "user" | "assistant";
  /** Within its tier, [0, 1]. */
  score: number;
  /** Tokens as rendered, message overhead included. */
  tokens: number;
  /** 1-based. */
  position: number;
  reason: string;
  pinned: boolean;
  /** Cut at a sentence or grapheme boundary, with a marker, to fit. */
  truncated: boolean;
  /** As rendered. */
  text: string;
}

/** A candidate that was not packed. */
export interface LeftOut {
  tier: Tier;
  kind: ItemKind;
  id: number | string;
  score: number;
  tokens: number;
  reason: string;
}

export interface Envelope {
  items: EnvelopeItem[];
  left: LeftOut[];
  budget: number;
  tokens: number;
  /** tokens / budget. */
  saturation: number;
  /** Tokens spent by tier. */
  spent: Record<Tier, number>;
  /** True when the count is an estimate, not a tokenizer's: high for written text, but a rare word may cost more (G-48). */
  estimated: boolean;
}

/** A stale tool output that the policy wants fetched again: a request to the host, never done by the library (G-61). */
export interface Reinvoke {
  scratchId: string;
  tool: string;
  arguments: string;
}

/** What `assemble` returns. */
export interface Turn extends Classification {
  /** The turn, as written. */
  text: string;
  /** Null for a dry run. */
  turnId: number | null;
  mode: "conversation" | "document" | "hybrid";
  envelope: Envelope;
  /** Chat Completions messages: system messages, the envelope in its order, the current turn. */
  messages: Message[];
  /** The SPEC-028 headers, ready to send. */
  headers: Record<string, string>;
  reinvoke: Reinvoke[];
  /** Hybrid mode: candidate sub-queries that seed the document task (G-69). */
  subqueries: string[];
  /** Time inside the core, microseconds. */
  micros: number;
  /** The receipt, for people. */
  explain(): string;
}

/** A turn as the log holds it (SPEC-028 §3.1). */
export interface LoggedTurn {
  turnId: number;
  role: "user" | "assistant";
  content: string;
  tokens: number;
  /** Milliseconds since the epoch. */
  timestamp: number;
  /** Slug of its thread. */
  thread: string;
  /** Turns it refers to. */
  references: number[];
  entities: string[];
  /** Ids of the scratch entries that its group produced. */
  toolCalls: string[];
  /** Host's id. */
  id: string | null;
}

/** What `sync` did (G-71). */
export interface SyncResult {
  /** Messages at the front of the array that the session had already. */
  known: number;
  /** One result for each message appended. */
  appended: AppendResult[];
}

/** What the host knows about a thread; what is left out stays as it is (G-70). */
export interface ThreadUpdate {
  /** The active thread when absent. */
  threadId?: string | undefined;
  established?: readonly string[] | undefined;
  openQuestions?: readonly string[] | undefined;
  userConstraints?: readonly string[] | undefined;
}

/** Which session: ids are unique within a namespace, and nothing crosses namespaces. */
export interface SessionOptions {
  /** `"default"` when absent. */
  namespace?: string | undefined;
}

/** ThreadState (SPEC-028 §6.2). */
export interface ThreadState {
  threadId: string;
  established: string[];
  openQuestions: string[];
  userConstraints: string[];
  lastActiveTurn: number;
}

export interface FactInput {
  id: string;
  text: string;
  source?: string | undefined;
  /** In [0, 1]. */
  importance?: number | undefined;
  vector?: Float32Array | undefined;
  /** ISO 8601 duration, milliseconds, or "none". */
  ttl?: string | number | undefined;
  status?: FactStatus | undefined;
  /** Milliseconds since the epoch. */
  modifiedAt?: number | undefined;
}

/** R009-1: DELETED and QUARANTINED are never retrieved, STALE with a penalty. */
export type FactStatus = "ACTIVE" | "STALE" | "DELETED" | "QUARANTINED";

export interface FactHit {
  id: string;
  text: string;
  source: string;
  score: number;
  relevance: number;
}

/** Thresholds on the calibrated similarity scale. */
export interface Thresholds {
  /** Above it a turn joins a thread (SPEC-028 §3.3). */
  join?: number | undefined;
  /** At or above it a turn stays in the active thread (SPEC-028 §5.2). */
  stay?: number | undefined;
  /** Below it a fact is not retrieved (R024-6). */
  minRelevance?: number | undefined;
}

/** Options that may also be given per call. */
export interface CallOptions {
  profile?: Profile | undefined;
  /** BCP 47 language of the turn, or "auto". */
  locale?: string | undefined;
  mode?: Mode | undefined;
  /** Tokens of the rendered envelope, overhead included; system prompt and current turn excluded (G-46). */
  budget?: number | undefined;
  /** Turns until the recency weight halves (SPEC-028 §3.2). */
  halfLife?: number | undefined;
  thresholds?: Thresholds | undefined;
  /** Replaces the row of SPEC-028 §5.3 for the intents named, or for every intent when a single blend is given. */
  blend?: Blend | Partial<Record<Intent, Blend>> | undefined;
}

export interface ClassifyOptions extends CallOptions {
  /** Of the text. Not to be changed while the result is in use: what is worked out when it is asked for reads it again. */
  vector?: Float32Array | undefined;
  name?: string | undefined;
}

export interface AssembleOptions extends ClassifyOptions {
  /** Host's own id: assembling the same id twice is one turn. */
  id?: string | undefined;
  entities?: readonly string[] | undefined;
  /** Change nothing: no turn is appended. */
  dryRun?: boolean | undefined;
  timestamp?: number | undefined;
}

/** Maps an embedder's cosine to the scale on which 0.70 / 0.50 mean what SPEC-028 says: piecewise linear, `x` ascending. */
export interface Calibration {
  x: readonly number[];
  y: readonly number[];
}

/** Any function that turns text into vectors; its id, dimension and calibration are one value, checked on every vector. */
export interface Embedder {
  /** Names the model: vectors of another id are refused, also after a restart (G-56). */
  id: string;
  dimensions: number;
  calibration?: Calibration | undefined;
  /**
   * A promise makes `assemble` refuse and `assembleAsync` / `appendAsync` the way in. Left out when the host passes a
   * `vector` with every text.
   */
  embed?(text: string): Float32Array | Promise<Float32Array>;
}

/** `o200k` and `cl100k` are exact; `estimate` errs to the high side for written text and is flagged; a Hugging Face `tokenizer.json` as text; any function. */
export type Tokenizer = "o200k" | "cl100k" | "estimate" | { json: string } | ((text: string) => number);

/** One line of a session's history, as a store keeps it. Replaying the records in order rebuilds the session exactly. */
export interface StoreRecord {
  /** Position in the session's log, from 1, without gaps. Appending the same `seq` again is a no-op. */
  seq: number;
  /** What happened, JSON. */
  data: string;
}

/** What a store must do; `trihorizon/store-contract` tests any implementation. */
export interface Store {
  /** Appends one record; idempotent by `seq`, ordered, scoped to the session. May buffer until `flush`. */
  append(session: string, record: StoreRecord): void | Promise<void>;
  /** The newest snapshot, if any, and every record after it, in order. */
  load(session: string): StoredSession | Promise<StoredSession>;
  /** Replaces all records up to and including `seq`. */
  saveSnapshot(session: string, seq: number, bytes: Uint8Array): void | Promise<void>;
  /** Erases the session. */
  delete(session: string): void | Promise<void>;
  /** Resolves when everything appended so far survives a kill. */
  flush(): Promise<void>;
  /** Flushes, and gives everything free; idempotent. */
  close(): void | Promise<void>;
  /** True when `append`, `load`, `saveSnapshot` and `delete` return synchronously, so that `engine.session()` works. */
  readonly sync: boolean;
  /** The session saves a snapshot after so many records; never by itself when absent. */
  readonly snapshotEvery?: number;
}

export interface StoredSession {
  snapshot: { seq: number; bytes: Uint8Array } | null;
  records: StoreRecord[];
}

/** Every option has its default in the core (`engine.info().options` shows them all); unknown keys are errors. */
export interface EngineOptions extends CallOptions {
  embedder?: "builtin" | "lexical" | Embedder | undefined;
  /**
   * How sessions keep the vectors of their turns: four bytes an element, or one. Similarities by `i8` are off by at most the
   * largest element of a vector × √dimensions ÷ 254, and commonly by a twentieth of that.
   */
  vectors?: "f32" | "i8" | undefined;
  tokens?: Tokenizer | undefined;
  /** Tokens each rendered message costs beside its text. */
  messageOverhead?: number | undefined;
  store?: "memory" | Store | undefined;
  /** Live sessions kept; the least recently used is evicted (and reloaded from its store when asked for again). */
  maxSessions?: number | undefined;
  /** Milliseconds since the epoch. */
  clock?: (() => number) | undefined;
  /** Turns kept in the log; null keeps all (G-57). */
  ring?: number | null | undefined;
  /** Hard cap of the Active Thread Summary, tokens; it never takes more than an eighth of Tier C's share (G-70). */
  summaryTokens?: number | undefined;
  /** Thread ids from user text, or `thread-N` (G-58). */
  threadNames?: "slug" | "opaque" | undefined;
  /** Read constraints, established facts and open questions from the turns (G-70). */
  extract?: boolean | undefined;
  scratch?:
    | {
        maxEntries?: number | undefined;
        /** Hard cap of a summary, tokens (R029-4). */
        summaryTokens?: number | undefined;
        /** What happens to stale output; by default REALTIME is reinvoked, the rest warned about (R029-6). */
        stale?: "reinvoke" | "warn" | "exclude" | undefined;
      }
    | undefined;
  facts?:
    | {
        /** Facts in a namespace above which an HNSW index replaces exact search. */
        indexAbove?: number | undefined;
        /** Novelty of a covered fact when the policy is partial: 1 − factor × coverage penalty (G-7). */
        partialFactor?: number | undefined;
      }
    | undefined;
}

/** What `engine.info()` tells. */
export interface Info {
  version: string;
  /** SIMD level in use. */
  kernel: string;
  embedding: { id: string; dimensions: number } | null;
  tokenizer: string;
  locales: string[];
  sessions: number;
  /** Bytes held natively. */
  bytes: number;
  /** Options in force, defaults filled in. */
  options: Record<string, unknown>;
}
