import { bindingSentences, relaySentence } from '@sotto/wire';
import type { ReactNode } from 'react';
import { formatCountOf, formatInstant } from '../../../format/format.ts';
import { tiers } from '../../../ui/badge.tsx';
import { byOutcome, CheckGroups } from '../../../verification/checks.tsx';
import { type Mark, type Place, PrivacyPath } from '../../../verification/privacy-path.tsx';
import { browserMinimum, meets, type Verdict, verdictWords } from '../../../verification/verdicts.tsx';
import { ScriptNote } from '../script-note.tsx';
import { useSurroundings } from '../surroundings.ts';
import type { AnswerFacts } from './conversation.ts';

interface PrivacyReceiptProps {
  readonly facts: AnswerFacts;
  /** Whether the picture is open at first. */
  readonly isOpen: boolean;
}

/** Shows who received what for one answer, and the checks of each. Shows nothing without an answer. */
export function PrivacyReceipt({ facts, isOpen }: PrivacyReceiptProps) {
  const { isOneProcess } = useSurroundings();
  if (facts.provider === undefined && facts.tier === undefined) return null;
  const { way, provider } = facts;
  const marks = marksOf(facts);
  return (
    <details open={isOpen} className="rounded-xl border border-line bg-ground px-3 py-2">
      <summary className="min-h-6 cursor-pointer text-sm font-medium">
        Privacy receipt
        <span className="font-normal text-muted">{` · broker: ${marks.broker.word} · provider: ${marks.provider.word}`}</span>
      </summary>
      <div className="mt-3">
        <PrivacyPath
          label="Privacy receipt"
          way={isSealed(facts) ? 'e2ee' : way}
          isOneProcess={isOneProcess}
          names={provider === undefined ? {} : { provider }}
          marks={marks}
          evidence={evidenceOf(facts)}
        />
      </div>
    </details>
  );
}

function evidenceOf(facts: AnswerFacts): Readonly<Record<Place, ReactNode>> {
  return {
    you: <YouEvidence facts={facts} />,
    control: <ControlEvidence facts={facts} />,
    broker: <BrokerEvidence facts={facts} />,
    provider: <ProviderEvidence facts={facts} />,
  };
}

function YouEvidence({ facts }: { facts: AnswerFacts }) {
  const { sender, senderProof } = useSurroundings();
  return (
    <Evidence>
      {facts.way === 'compatibility' ? (
        <p>{`${sender} sent the key and the content in one request, to the broker.`}</p>
      ) : (
        <p>
          {`${sender} sent the key to control only. It sent the content ${isSealed(facts) ? 'encrypted, ' : ''}to ${facts.gateway?.origin ?? 'the broker'} only.`}
        </p>
      )}
      <p>{senderProof}</p>
    </Evidence>
  );
}

function ControlEvidence({ facts }: { facts: AnswerFacts }) {
  const { sender } = useSurroundings();
  if (facts.way === 'compatibility') {
    return (
      <Evidence>
        <p>
          {`${sender} asked control nothing for this answer. Control knows whose key it is, and books the cost. The broker sends it no content.`}
        </p>
        <NotAttested />
      </Evidence>
    );
  }
  return (
    <Evidence>
      <p>
        Received your key, the model <code className="break-all">{facts.askedModel}</code> and your choice of providers.
        It returned a single-use ticket, which names no account.
      </p>
      {isSealed(facts) && <p>It returned a second ticket, to ask the enclave for evidence.</p>}
      <NotAttested />
    </Evidence>
  );
}

const NotAttested = () => (
  <>
    <p>Control is not attested. It received no content of this request.</p>
    <ScriptNote />
  </>
);

function BrokerEvidence({ facts }: { facts: AnswerFacts }) {
  const { sender, unseenTlsKey, linkTo } = useSurroundings();
  const { gateway, requestId, attempts = 1 } = facts;
  return (
    <Evidence>
      {gateway === undefined ? (
        <p>
          Not verified. In compatibility mode your client checks no evidence, and the broker sees key and content
          together while the request runs.
        </p>
      ) : (
        <>
          <p>
            {`${sender} verified ${gateway.origin} at ${formatInstant(gateway.verifiedAt)}, before it sent the content. Verdict: ${verdictWords[gateway.verdict].name}. `}
            {gateway.teeType === 'simulated'
              ? 'The evidence is simulated: no hardware signed it, and it proves nothing about the machine.'
              : verdictWords[gateway.verdict].meaning}
          </p>
          <p>{gateway.tlsKeySeen ? bindingSentences[gateway.binding] : unseenTlsKey}</p>
          <CheckSummary checks={gateway.checks} />
          <p>{linkTo('/verify', 'Verify it again')}</p>
        </>
      )}
      {attempts > 1 && (
        <p>
          {`It made ${formatCountOf(attempts, 'attempt')}. Providers that failed before may have received the content, too.`}
        </p>
      )}
      {requestId !== undefined && (
        <p className="break-all text-muted">
          Request <code>{requestId}</code>
        </p>
      )}
    </Evidence>
  );
}

function ProviderEvidence({ facts }: { facts: AnswerFacts }) {
  const { sender } = useSurroundings();
  const { tier, enclave, provider = 'The provider' } = facts;
  if (enclave !== undefined) {
    return (
      <Evidence>
        <p>
          {`${sender} verified the enclave of ${enclave.provider} for ${enclave.model} at ${formatInstant(enclave.verifiedAt)}, and encrypted the content for its key. Verdict: ${verdictWords[enclave.verdict].name}. ${verdictWords[enclave.verdict].meaning}`}
        </p>
        {enclave.relayAttacks !== undefined && <p>{relaySentence(enclave.relayAttacks)}</p>}
        <CheckSummary checks={enclave.checks} />
      </Evidence>
    );
  }
  return (
    <Evidence>
      <p>
        {tier === undefined
          ? 'The broker named no tier for this answer.'
          : `The broker reports that ${provider} answered, on a route of tier ${tiers[tier].name}. ${tiers[tier].promise}`}
      </p>
      <p>
        {tier === 'tee' || tier === 'e2ee'
          ? `The broker checks that evidence. ${sender} did not: it relies on the broker here.`
          : 'There is no technical evidence for this tier to check.'}
      </p>
    </Evidence>
  );
}

type Checks = Parameters<typeof CheckGroups>[0]['checks'];

function CheckSummary({ checks }: { checks: Checks }) {
  const { passed, failed, notMade } = byOutcome(checks);
  return (
    <details>
      <summary className="min-h-6 cursor-pointer">
        {`${formatCountOf(checks.length, 'check')}: ${passed.length} passed, ${failed.length} failed, ${notMade.length} skipped`}
      </summary>
      <div className="mt-2">
        <CheckGroups checks={checks} />
      </div>
    </details>
  );
}

const Evidence = ({ children }: { children: ReactNode }) => <div className="max-w-prose space-y-2">{children}</div>;

/** Whether the request was encrypted for a verified enclave. */
const isSealed = ({ enclave }: AnswerFacts): boolean => enclave !== undefined;

/** The words on the boxes. Only a check on evidence of real hardware that was made here reads as verified. */
export function marksOf(facts: AnswerFacts): Readonly<Record<'broker' | 'provider', Mark>> {
  return { broker: brokerMark(facts), provider: providerMark(facts) };
}

function brokerMark({ gateway }: AnswerFacts): Mark {
  if (gateway === undefined) return { tone: 'warn', word: 'not verified' };
  if (gateway.teeType === 'simulated') return { tone: 'warn', word: 'simulated, not verified' };
  return verdictMark(gateway.verdict);
}

function providerMark(facts: AnswerFacts): Mark {
  const { tier, enclave } = facts;
  if (enclave !== undefined) {
    if (enclave.checks.some(({ name }) => name.startsWith('simulated.')))
      return { tone: 'warn', word: 'simulated, not verified' };
    return verdictMark(enclave.verdict);
  }
  if (tier === 'private') return { tone: 'info', word: 'private, by contract' };
  if (tier === 'anonymous') return { tone: 'neutral', word: 'anonymous, may keep content' };
  return { tone: 'neutral', word: tier === undefined ? 'tier unknown' : `${tiers[tier].name}, not checked here` };
}

const verdictMark = (verdict: Verdict): Mark => {
  const { name, tone } = verdictWords[verdict];
  return meets(verdict, browserMinimum)
    ? { tone, word: `verified: ${name.toLowerCase()}` }
    : { tone, word: `not verified: ${name.toLowerCase()}` };
};
