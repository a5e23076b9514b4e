/** How long to look. */
export interface Effort {
  /** Interleaved rounds; their median is the result. */
  rounds: number;
  /** Seconds of one contender in one round. */
  seconds: number;
  /** Timed calls of one round where single calls are timed. */
  calls: number;
}

export const FULL: Effort = { rounds: 9, seconds: 0.12, calls: 20_000 };
export const QUICK: Effort = { rounds: 5, seconds: 0.02, calls: 2_000 };
