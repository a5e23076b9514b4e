/** What the command tells its shell. */
export const ExitStatus = { Done: 0, Failure: 1, Usage: 2 } as const;

/** The command line makes no sense. */
export class UsageError extends Error {}
