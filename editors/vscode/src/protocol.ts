// The messages of memls as docs/protocol.md describes them: version 1, every type by the name that it has there. A test compares
// this file with that document, field by field. A value that a newer server adds to an enumeration may arrive here: code that
// switches over one has a default.

/** RFC 3339, in UTC. */
export type Time = string;

export type Scope = "project" | "user" | "team";
export type Status = "active" | "superseded" | "expired";
export type Turn = "user" | "retry" | "continue" | "restore" | "runtime";
export type Phase = "fast" | "refined";
export type Strategy = "none" | "heuristic" | "model";
export type Outcome = "settled" | "cancelled" | "not_started";
export type RecallStatus = "delivered" | "already_delivered" | "no_relevant_results" | "cancelled" | "timed_out" | "failed";
export type CancelReason = "new_query" | "abort" | "reset" | "shutdown" | "no_safe_delivery_point";
export type RootCondition = "loading" | "ready" | "degraded" | "missing" | "untrusted" | "error";
export type PlanKind = "remember" | "forget" | "move" | "extract" | "dream";
export type Action = "create" | "update" | "delete";
export type Verdict = "useful" | "wrong" | "outdated";
export type FailureKind =
  | "not_found"
  | "conflict"
  | "too_large"
  | "path_escape"
  | "stale_plan"
  | "locked"
  | "read_only"
  | "untrusted"
  | "secret_found"
  | "disabled"
  | "io";

export interface InitializationOptions {
  roots?: RootOption[];
  profile?: "auto" | "qwen" | "claude" | "plain";
  trusted?: boolean;
  recall?: SwitchOption;
  extract?: SwitchOption;
  dream?: SwitchOption;
  writePolicy?: "off" | "review" | "auto";
  model?: ModelOptions;
  backgroundTokensPerDay?: number;
  watcher?: "auto" | "poll";
  worktrees?: "isolate" | "share";
  activity?: boolean;
  telemetry?: boolean;
}

export interface RootOption {
  scope: Scope;
  path: string;
  readOnly?: boolean;
}

export interface SwitchOption {
  enabled?: boolean;
}

export interface ModelOptions {
  baseURL: string;
  name?: string;
  apiKeyEnv?: string;
  embeddingName?: string;
  embeddingBaseURL?: string;
  embeddingApiKeyEnv?: string;
  requestTimeoutMs?: number;
  price?: ModelPrice;
}

export interface ModelPrice {
  input: number;
  output: number;
  currency?: string;
}

export interface UsageCounts {
  requests: number;
  promptTokens: number;
  completionTokens: number;
  estimated?: boolean;
  cost?: number;
  currency?: string;
}

export interface MemoryCapability {
  version: number;
  methods: string[];
  notifications: string[];
}

export interface RecallParams {
  token: string;
  session: string;
  query: string;
  turn?: Turn;
  delivery?: "push" | "pull";
  recentTools?: string[];
  exclude?: string[];
  delivered?: VersionedRef[];
  scopes?: Scope[];
  types?: string[];
  folder?: string;
  limit?: number;
  trace?: boolean;
}

export interface VersionedRef {
  ref: string;
  version: string;
}

export interface RecallResponse {
  token: string;
  outcome: Outcome;
  reason?: string;
  detail?: string;
  fast?: FastSummary;
  refined?: RefinedSummary;
}

export interface FastSummary {
  refs: string[];
  strategy: "heuristic" | "none";
  latencyMs: number;
}

export interface RefinedSummary {
  refs: string[];
  status: RecallStatus;
  strategy: Strategy;
  retract: string[];
  latencyMs: number;
}

export interface RecallResult {
  token: string;
  session: string;
  phase: Phase;
  strategy: Strategy;
  status?: RecallStatus;
  reason?: CancelReason;
  documents: RecallDocument[];
  prompt: string;
  alreadyDelivered: string[];
  retract?: string[];
  degraded: DegradedReason[];
  latencyMs: number;
  catalogRevision: number;
  trace?: RecallTraceTable;
}

export interface RecallDocument {
  ref: string;
  uri: string;
  range: Range;
  version: string;
  scope: Scope;
  type: string;
  title: string;
  description: string;
  body: string;
  truncated: boolean;
  updatedAt: Time;
  ageDays: number;
  stale?: StaleNote;
  pinned: boolean;
  status: Status;
  state?: "new" | "updated" | "more";
  why: WhyReason[];
}

export interface StaleNote {
  reason: "age" | "anchor";
  detail: string;
}

export interface WhyReason {
  field: "title" | "description" | "keywords" | "usage_scenarios" | "body";
  term: string;
  match: "exact" | "fold" | "prefix" | "part" | "gram";
}

export interface DegradedReason {
  reason: string;
  detail: string;
}

export interface RecallTraceTable {
  terms: TraceTerm[];
  considered: number;
  candidates: TraceCandidate[];
  truncated?: boolean;
}

export interface TraceTerm {
  term: string;
  weight: number;
  documents: number;
  evidence: boolean;
}

export interface TraceCandidate {
  ref: string;
  title: string;
  rank: number;
  score: number;
  share: number;
  needed: number;
  signals: TraceSignal[];
  why: WhyReason[];
  verdict: string;
  detail?: string;
  feedback?: number;
}

export interface TraceSignal {
  name: string;
  rank: number;
  score: number;
}

export interface Range {
  start: Position;
  end: Position;
}

export interface Position {
  line: number;
  character: number;
}

export interface ConsumeParams {
  session: string;
  token: string;
  point: "initial" | "tool_result";
}

export interface FinishParams {
  session: string;
  token?: string;
  turn?: Turn;
  outcome: "end_turn" | "cancelled" | "error" | "loop_protection" | "limit";
  messages?: TurnMessage[];
  messagesFrom?: MessageCursor;
}

export interface TurnMessage {
  role: string;
  text: string;
  id?: string;
  wrote?: string[];
}

export interface MessageCursor {
  offset: number;
  digest: string;
}

export interface FinishResult {
  recall: FinishedRecall;
  extract: ScheduledWork;
  dream: ScheduledWork;
}

export interface FinishedRecall {
  outcome: Outcome;
  reason?: string;
}

export interface ScheduledWork {
  state: "scheduled" | "skipped";
  reason?: "not_user_turn" | "turn_not_successful" | "disabled" | "no_history";
}

export interface ToolUsedParams {
  session: string;
  tool: string;
  status: "ok" | "error" | "cancelled";
}

export interface ResetSessionParams {
  session: string;
  reason?: "reset" | "compacted";
  refs?: string[];
}

export interface ExplainParams {
  query: string;
  ref?: string;
  session?: string;
  recentTools?: string[];
  exclude?: string[];
  scopes?: Scope[];
  types?: string[];
  folder?: string;
  limit?: number;
}

export interface ExplainResult {
  query: string;
  revision: number;
  candidate?: TraceCandidate;
  trace: RecallTraceTable;
  degraded: DegradedReason[];
}

export interface SearchParams {
  query: string;
  limit?: number;
  scopes?: Scope[];
  types?: string[];
  folder?: string;
  inactive?: boolean;
  trace?: boolean;
}

export interface SearchResult {
  documents: RecallDocument[];
  total: number;
  trace?: RecallTraceTable;
}

export interface ListParams {
  scopes?: Scope[];
  types?: string[];
  folder?: string;
  inactive?: boolean;
  cursor?: string;
  limit?: number;
}

export interface ListResult {
  documents: ListedDocument[];
  cursor?: string;
}

export interface ListedDocument {
  ref: string;
  uri: string;
  version: string;
  scope: Scope;
  type: string;
  title: string;
  description: string;
  pinned: boolean;
  status: Status;
  keywords: string[];
  updatedAt: Time;
  lastRecalledAt?: Time;
  recallCount: number;
  feedback?: FeedbackCounts;
  diagnostics: number;
}

export interface FeedbackCounts {
  useful: number;
  wrong: number;
  outdated: number;
}

export interface GetParams {
  ref: string;
  version?: string;
}

export interface GetResult {
  ref: string;
  uri: string;
  range: Range;
  version: string;
  scope: Scope;
  type: string;
  title: string;
  description: string;
  body: string;
  truncated: boolean;
  updatedAt: Time;
  ageDays: number;
  stale?: StaleNote;
  pinned: boolean;
  status: Status;
  keywords: string[];
  entries: DocumentEntry[];
  links: DocumentLink[];
  backlinks: string[];
  provenance: DocumentProvenance;
  diagnostics: DocumentProblem[];
  cut?: ("entries" | "links" | "backlinks")[];
}

export interface DocumentEntry {
  ref: string;
  summary: string;
  range: Range;
}

export interface DocumentLink {
  target: string;
  ref?: string;
  range: Range;
}

export interface DocumentProvenance {
  createdAt?: Time;
  expiresAt?: Time;
  lastVerifiedAt?: Time;
  category?: string;
  supersedes?: string[];
}

export interface DocumentProblem {
  range: Range;
  severity: number;
  code: string;
  message: string;
}

export interface StatusResult {
  roots: RootStatus[];
  discovered: DiscoveredPlace[];
  notes: string[];
  model: ModelStatus;
  embeddings: EmbeddingStatus;
  plans: number;
  tasks: number;
  process: ProcessStatus;
}

export interface RootStatus {
  id: string;
  scope: Scope;
  path: string;
  readOnly?: boolean;
  profile?: "qwen" | "claude" | "plain";
  folders: string[];
  state: RootCondition;
  reason?: string;
  onDisk: number;
  catalogued: number;
  skipped: SkippedFile[];
  skippedTotal: number;
  index?: IndexStatus;
  watch: WatchStatus;
  lastEventAt?: Time;
  revision: number;
}

export interface IndexStatus {
  listed: number;
  missing: IndexedName[];
  missingTotal: number;
  unlisted: string[];
  unlistedTotal: number;
  repeated: number;
  lines: number;
  bytes: number;
  tooLarge?: boolean;
}

export interface IndexedName {
  target: string;
  line: number;
}

export interface DiscoveredPlace {
  profile: "qwen" | "claude" | "plain";
  scope: Scope;
  path: string;
  folder?: string;
  state: "served" | "new" | "absent" | "untrusted" | "refused" | "off";
  reason?: string;
}

export interface SkippedFile {
  path: string;
  reason: string;
}

export interface WatchStatus {
  mode: "fsnotify" | "poll" | "none";
  reason?: string;
  since?: Time;
}

export interface ModelStatus {
  state: "none" | "configured" | "ready" | "failing";
  name?: string;
  detail?: string;
}

export interface EmbeddingStatus {
  state: "none" | "configured" | "indexing" | "ready" | "failing";
  name?: string;
  detail?: string;
  vectors?: number;
  total?: number;
  withheld?: number;
  refused?: number;
  dimension?: number;
  bytes?: number;
  floor?: number;
}

export interface ProcessStatus {
  pid: number;
  version: string;
  startedAt: Time;
  uptimeMs: number;
  heapBytes: number;
  goroutines: number;
}

export interface ShowParams {
  ref: string;
}

export interface ShowResult {
  uri: string;
  shown: boolean;
}

export interface StatsParams {
  days?: number;
}

export interface StatsResult {
  enabled: boolean;
  days: StatsDay[];
}

export interface StatsDay {
  date: string;
  recalled: number;
  delivered: number;
  documents: number;
  discarded: DiscardCount[];
}

export interface DiscardCount {
  reason: string;
  count: number;
}

export interface MemoryTarget {
  ref: string;
  version?: string;
}

export interface Plan {
  id: string;
  kind: PlanKind;
  createdAt: Time;
  expiresAt: Time;
  changes: PlanChange[];
  warnings: string[];
  usage?: UsageCounts;
}

export interface PlanChange {
  id: string;
  action: Action;
  ref: string;
  uri: string;
  base?: string;
  diff: string;
  reason: string;
  why?: WhyReason[];
  score?: number;
  evidence?: string[];
}

export interface Operation {
  id?: string;
  kind: PlanKind | "pin" | "index" | "undo";
  at: Time;
  changes: OperationChange[];
  undoUntil?: Time;
  undoes?: string;
  purged?: boolean;
  warnings?: string[];
  usage?: UsageCounts;
}

export interface OperationChange {
  ref: string;
  action: Action;
  from?: string;
  to?: string;
  purged?: boolean;
}

export interface RememberParams {
  text: string;
  scope?: Scope;
  type?: string;
  name?: string;
  keywords?: string[];
  session?: string;
  folder?: string;
  apply?: boolean;
}

export interface RememberResult {
  id?: string;
  kind?: string;
  at?: Time;
  createdAt?: Time;
  expiresAt?: Time;
  changes: RememberedChange[];
  undoUntil?: Time;
  warnings?: string[];
  unchanged?: string[];
}

export interface RememberedChange {
  id?: string;
  action: "create" | "update";
  ref: string;
  uri?: string;
  from?: string;
  to?: string;
  base?: string;
  diff?: string;
  reason?: string;
}

export interface ForgetParams {
  query?: string;
  refs?: MemoryTarget[];
  scopes?: Scope[];
  limit?: number;
  folder?: string;
}

export interface ConfirmForgetParams {
  ref: string;
  version?: string;
}

export interface MoveParams {
  ref: string;
  version?: string;
  scope: Scope;
  folder?: string;
}

export interface PlansParams {
  kinds?: PlanKind[];
}

export interface PlansResult {
  plans: Plan[];
}

export interface ApplyParams {
  plan: string;
  only?: string[];
  edits?: Record<string, string>;
  purge?: boolean;
}

export interface DiscardParams {
  plan: string;
}

export interface OperationsParams {
  limit?: number;
}

export interface OperationsResult {
  operations: Operation[];
  truncated?: boolean;
}

export interface UndoParams {
  operation: string;
}

export interface PinParams {
  ref: string;
  version?: string;
  pinned: boolean;
}

export interface FeedbackParams {
  ref: string;
  session?: string;
  verdict: Verdict;
}

export interface FeedbackResult {
  ref: string;
  feedback: FeedbackCounts;
}

export interface RebuildIndexParams {
  scope: Scope;
  folder?: string;
}

export interface ChangedParams {
  revision: number;
  added: string[];
  updated: string[];
  removed: string[];
  truncated?: boolean;
}

export interface TelemetryEvent {
  type: string;
  strategy?: Strategy;
  status?: string;
  delivery?: "push" | "pull";
  phase?: Phase;
  deliveryPoint?: "initial" | "tool_result" | "push" | "discarded";
  discardReason?: "no_safe_delivery_point" | "new_query" | "reset" | "abort" | "shutdown" | "no_relevant_results" | "already_delivered";
  documents: number;
  candidates?: number;
  latencyMs: number;
  trigger?: string;
  kind?: string;
  tokens?: number;
}

export interface ActivityParams {
  host: string;
  phase: Phase;
  strategy: Strategy;
  refs: string[];
  status: string;
  at: Time;
  own?: boolean;
}

export interface StatusChangedParams {
  roots: RootState[];
}

export interface RootState {
  id: string;
  scope: Scope;
  path: string;
  state: RootCondition;
  reason?: string;
}

export interface PlansChangedParams {
  pending: number;
}

export interface SecretParams {
  name: string;
}

export interface SecretResult {
  value: string;
}

export interface ParamErrorData {
  field: string;
}

export interface FailureData {
  kind: FailureKind;
  detail: string;
  refs?: string[];
}

export interface ExtractParams {
  session: string;
  messages?: TurnMessage[];
  messagesFrom?: MessageCursor;
  transcript?: TranscriptInput;
  trigger?: "manual" | "auto";
  folder?: string;
  dryRun?: boolean;
  workDoneToken?: string;
}

export interface TranscriptInput {
  text: string;
  format?: string;
}

export interface ExtractResult {
  plan?: Plan;
  operation?: Operation;
  skipped: SkippedWork[];
}

export interface DreamParams {
  scope: Scope;
  folder?: string;
  force?: boolean;
}

export interface DreamResult {
  plan?: Plan;
  operation?: Operation;
  skipped: SkippedWork[];
}

/** What background work has left out, and why. */
export interface SkippedWork {
  reason: string;
  detail: string;
}

/** A request of the client: its params, and what it answers. A server without one of them does not name it in its capability. */
export interface Requests {
  "memory/recall": [RecallParams, RecallResponse];
  "memory/consume": [ConsumeParams, RecallResult | null];
  "memory/finish": [FinishParams, FinishResult];
  "memory/resetSession": [ResetSessionParams, object];
  "memory/explain": [ExplainParams, ExplainResult];
  "memory/search": [SearchParams, SearchResult];
  "memory/list": [ListParams, ListResult];
  "memory/get": [GetParams, GetResult];
  "memory/status": [object, StatusResult];
  "memory/show": [ShowParams, ShowResult];
  "memory/stats": [StatsParams, StatsResult];
  "memory/remember": [RememberParams, RememberResult];
  "memory/forget": [ForgetParams, Plan];
  "memory/confirmForget": [ConfirmForgetParams, Operation];
  "memory/move": [MoveParams, Plan];
  "memory/plans": [PlansParams, PlansResult];
  "memory/apply": [ApplyParams, Operation];
  "memory/discard": [DiscardParams, object];
  "memory/operations": [OperationsParams, OperationsResult];
  "memory/undo": [UndoParams, Operation];
  "memory/pin": [PinParams, Operation];
  "memory/feedback": [FeedbackParams, FeedbackResult];
  "memory/rebuildIndex": [RebuildIndexParams, Operation];
  "memory/extract": [ExtractParams, ExtractResult];
  "memory/dream": [DreamParams, DreamResult];
}

/** A notification that the client sends. */
export interface Sent {
  "memory/toolUsed": ToolUsedParams;
}

/** A notification that the server sends. */
export interface Received {
  "memory/recallFast": RecallResult;
  "memory/recallRefined": RecallResult;
  "memory/changed": ChangedParams;
  "memory/activity": ActivityParams;
  "memory/statusChanged": StatusChangedParams;
  "memory/plansChanged": PlansChangedParams;
  "telemetry/event": TelemetryEvent;
}

/** A request that the server makes. */
export interface Asked {
  "memory/secret": [SecretParams, SecretResult];
}
