import { randomBytes } from 'node:crypto';
import type { Service } from '../../kit/service.ts';

const shared = ['TICKET_SEALING_KEY', 'SETTLEMENT_MAC_KEY'] as const;
const ofControl = [...shared, 'ACCOUNT_REF_KEY', 'SESSION_SECRET'] as const;
type Secret = (typeof ofControl)[number];
export type Changes = Readonly<Record<string, string | undefined>>;

/** The three rounds that replace each secret. A round restarts every process with changed variables. */
export interface SecretRounds {
  readonly next: Readonly<Record<Secret, string>>;
  /** The next secret is accepted, but not used yet. */
  accept(): Promise<void>;
  /** The next secret is used, and the former one is accepted. */
  use(): Promise<void>;
  /** The former secret is removed. */
  forget(): Promise<void>;
}

export function secretRounds(
  { secrets }: Pick<Service, 'secrets'>,
  restart: (changes: { readonly broker: Changes; readonly control: Changes }) => Promise<void>,
): SecretRounds {
  const fresh = ofControl.map((name) => [name, randomBytes(32).toString('base64')]);
  const next = Object.fromEntries(fresh) as Record<Secret, string>;
  const round = (changesOf: (name: Secret) => Changes): Promise<void> => {
    const changes = (names: readonly Secret[]): Changes => Object.assign({}, ...names.map(changesOf));
    return restart({ broker: changes(shared), control: changes(ofControl) });
  };
  return {
    next,
    accept: () => round((name) => ({ [`OTHER_${name}`]: next[name] })),
    use: () => round((name) => ({ [name]: next[name], [`OTHER_${name}`]: secrets[name] })),
    forget: () => round((name) => ({ [`OTHER_${name}`]: undefined })),
  };
}
