import { UsageError } from './terminal.ts';

/** Options by which the client guards a tool beyond the private flow, as `parseArgs` takes them. */
export const guardOptions = {
  'prove-tool-calls': { type: 'boolean' },
} as const;

export const guardHelp = `  --prove-tool-calls   hand a tool call to the agent only if a receipt of the verified broker proves the bytes of request
                       and answer; not with --e2ee, whose chats have no tools`;

export interface GuardValues {
  readonly 'prove-tool-calls'?: boolean | undefined;
  readonly e2ee?: boolean | undefined;
}

/** Throws a `UsageError` for options that do not go together. */
export function requireGuards(values: GuardValues): void {
  if (values['prove-tool-calls'] && values.e2ee) {
    throw new UsageError(
      '--prove-tool-calls does nothing with --e2ee: encrypted chats have no tool calls. Leave one of the two out.',
    );
  }
}

/** The options as they are typed, each after a space. */
export const guardsOf = (values: GuardValues): string => (values['prove-tool-calls'] ? ' --prove-tool-calls' : '');
