import { createContext, type ReactNode, use } from 'react';

/** A page of the dashboard that helps after a failure, or shows more. */
export type HelpfulPage = '/billing' | '/routing' | '/verify' | '/keys' | '/budgets';

/** The differences between the playground of the dashboard and the one that `sotto playground` serves. */
export interface Surroundings {
  /** The program that verifies machines and sends content, as the subject of a sentence. */
  readonly sender: string;
  /** How to see that the key went to control only, and whose script this is. */
  readonly senderProof: ReactNode;
  /** Said of a verification that did not see the TLS key of the connection. */
  readonly unseenTlsKey: string;
  /** Where the script of this page comes from. Shown where content is typed. */
  readonly scriptNote: ReactNode;
  /** Whether one process runs control and the broker. */
  readonly isOneProcess: boolean;
  /** Links to a page of the dashboard. Returns null if there is nothing to link to. */
  readonly linkTo: (page: HelpfulPage, text: string) => ReactNode;
  /** Links to a row of the reference of errors. */
  readonly linkToError: (row: string, text: ReactNode) => ReactNode;
  /** Called after each request that may have been charged. */
  readonly onCharged: () => void;
}

const Context = createContext<Surroundings | undefined>(undefined);

export const SurroundingsProvider = Context.Provider;

export function useSurroundings(): Surroundings {
  const surroundings = use(Context);
  if (surroundings === undefined) throw new Error('the playground needs its surroundings');
  return surroundings;
}
