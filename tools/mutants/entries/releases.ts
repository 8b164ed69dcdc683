import { type Mutant, mutantsAt } from '../mutant.ts';

const releases = 'packages/client/src/releases';
const bundles: Mutant['tests'] = [`${releases}/sigstore-mutations.test.ts`];
const ownLog: Mutant['tests'] = ['packages/client/src/command/release-command.test.ts'];
const pins: Mutant['tests'] = ['packages/client/src/command/pins-command.test.ts'];

/** Each check of a release is left out, or accepts more. */
export const releaseMutants: readonly Mutant[] = [
  ...mutantsAt({ folder: 'releases', file: `${releases}/sigstore.ts`, tests: bundles }, [
    ['identity', 'subject !== identity', '!new RegExp(identity).test(subject ?? "")'],
    ['issuer', 'extensions?.issuer !== issuer', '!issuer.startsWith(extensions?.issuer ?? "-")'],
    ['two_entries', 'entry === undefined || more.length > 0', 'entry === undefined'],
    ['checkpoint_cause', '/checkpoint|signature/.test(message)', 'false'],
    ['key_bundle', "content.$case === 'publicKey'", "content.$case === 'certificate' && false"],
  ]),
  ...mutantsAt({ folder: 'releases', file: `${releases}/read-release.ts`, tests: bundles }, [
    ['statement_time', "requireNotBefore(loggedAt, statement, 'the log had it');", ''],
    ['clock', "requireNotBefore(now.getTime(), { released_at: iso(loggedAt) }, 'your clock says');", ''],
  ]),
  ...mutantsAt({ folder: 'releases', file: `${releases}/statement.ts`, tests: bundles }, [
    ['machine_expiry', "(['release', 'expires_at'] as const)", "(['release'] as const)"],
  ]),
  ...mutantsAt({ folder: 'releases', file: `${releases}/log/logged-release.ts`, tests: ownLog }, [
    ['signature', 'if (payload === undefined) {', 'if (payload === undefined && false) {'],
    ['checkpoint_signature', '!isSignedBy(checkpoint.note, log.key)', 'false'],
    ['shrunk', 'next.size < last.size', 'next.size < 0'],
    ['forked', '!isConsistent(last, next, hashes(proof))', 'false'],
    ['witness', 'cosignedAt(note, witness);', 'cosignedAt(note, witness) ?? 0;'],
  ]),
  ...mutantsAt({ folder: 'releases', file: 'packages/client/src/command/pins-command.ts', tests: ownLog }, [
    ['witnesses_stay', '...(known?.witnesses ?? []), ', ''],
  ]),
  ...mutantsAt({ folder: 'releases', file: `${releases}/log/merkle.ts`, tests: [`${releases}/log/merkle.test.ts`] }, [
    ['root', 'return root !== undefined && isSame(root, tree.root);', 'return root !== undefined;'],
    ['older_root', 'isSame(old, older.root) && isSame(grown, newer.root)', 'isSame(grown, newer.root)'],
    ['newer_root', 'isSame(old, older.root) && isSame(grown, newer.root)', 'isSame(old, older.root)'],
  ]),
  ...mutantsAt(
    { folder: 'releases', file: `${releases}/log/signed-note.ts`, tests: [`${releases}/log/signed-note.test.ts`] },
    [
      ['key_id', 'toHex(own) !== id', 'false'],
      ['cosigned_time', '`cosignature/v1\\ntime ${seconds}\\n${text}`', '`cosignature/v1\\ntime 0\\n${text}`'],
    ],
  ),
  ...mutantsAt({ folder: 'releases', file: 'packages/client/src/pins/pins-with-release.ts', tests: pins }, [
    ['older', 'if (allowOlder || newest === undefined', 'if (true || newest === undefined'],
    ['older_of_signer', 'signerOf(each) === signerOf(pinned)', 'true'],
    ['same_version', 'if (same !== undefined) throw', 'if (same !== undefined && false) throw'],
    ['firmware', 'Math.max(one?.[part] ?? 0, other?.[part] ?? 0)', 'other?.[part] ?? 0'],
    ['hand_made', 'old === undefined && hasMeasurements(pins)', 'false'],
  ]),
  ...mutantsAt({ folder: 'releases', file: 'packages/client/src/command/replace-file.ts', tests: pins }, [
    ['pins_lock', "openSync(next, 'wx'", "openSync(next, 'w'"],
  ]),
  ...mutantsAt({ folder: 'releases', file: 'packages/client/src/command/pins-command.ts', tests: pins }, [
    ['other_kind', 'if (name === undefined) return;', 'return;'],
    ['past_end', 'if (Date.parse(text) > now) return text;', 'return text;'],
  ]),
  ...mutantsAt(
    {
      folder: 'releases',
      file: 'packages/attestation/src/gateway/pins.ts',
      tests: ['packages/attestation/src/gateway/pins.test.ts'],
    },
    [
      ['vendor', '!vendors.includes(vendor)', 'false'],
      ['expired', 'now.getTime() < Date.parse(expires_at)', 'true'],
    ],
  ),
];
