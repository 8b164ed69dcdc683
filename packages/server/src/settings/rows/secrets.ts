import { key, sessionSecret } from '../kinds.ts';
import { broker, control } from '../row.ts';

const generated = 'The default is generated and kept in the data directory.';

/** The secrets of the service itself, and the second ones of a rotation. */
export const secretRows = [
  control('TICKET_SEALING_KEY', 'secrets.ticket_sealing_key', {
    kind: key,
    required: true,
    describe: 'Encrypts tickets. The broker has the same key.',
    start: { required: false, describe: `Encrypts tickets. ${generated}` },
  }),
  broker('TICKET_SEALING_KEY', 'secrets.ticket_sealing_key', {
    kind: key,
    required: true,
    describe: 'Decrypts tickets. Control has the same key.',
  }),
  broker('OTHER_TICKET_SEALING_KEY', 'secrets.other_ticket_sealing_key', {
    kind: key,
    describe: 'Second key that is accepted while you rotate `TICKET_SEALING_KEY`.',
  }),
  control('ACCOUNT_REF_KEY', 'secrets.account_ref_key', {
    kind: key,
    required: true,
    describe: 'Encrypts the references to accounts that pass through Redis. Only control has it.',
    start: { required: false, describe: `Encrypts references to accounts. ${generated}` },
  }),
  control('OTHER_ACCOUNT_REF_KEY', 'secrets.other_account_ref_key', {
    kind: key,
    describe: 'Second key that is accepted while you rotate `ACCOUNT_REF_KEY`.',
  }),
  control('SETTLEMENT_MAC_KEY', 'secrets.settlement_mac_key', {
    kind: key,
    required: true,
    describe: 'Authenticates the settlements that the broker sends to control. The broker has the same key.',
    start: { required: false, describe: `Authenticates settlements. ${generated}` },
  }),
  broker('SETTLEMENT_MAC_KEY', 'secrets.settlement_mac_key', {
    kind: key,
    required: true,
    describe: 'Authenticates the settlements that the broker sends to control. Control has the same key.',
  }),
  control('OTHER_SETTLEMENT_MAC_KEY', 'secrets.other_settlement_mac_key', {
    kind: key,
    describe: 'Second key that is accepted while you rotate `SETTLEMENT_MAC_KEY`.',
  }),
  control('SESSION_SECRET', 'secrets.session_secret', {
    kind: sessionSecret,
    required: true,
    describe: 'Signs session cookies. Only control has it.',
    start: { required: false, describe: `Signs session cookies. ${generated}` },
  }),
  control('OTHER_SESSION_SECRET', 'secrets.other_session_secret', {
    kind: sessionSecret,
    describe: 'Second secret that is accepted while you rotate `SESSION_SECRET`.',
  }),
];
