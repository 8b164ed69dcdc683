/** What each process of a service has written so far, in pieces, while it runs. Processes of one service share theirs. */
export const runningOutputs = new Set<readonly string[]>();
