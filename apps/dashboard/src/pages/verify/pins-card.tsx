import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { TextAreaField } from '../../ui/field.tsx';
import { Card } from '../../ui/surface.tsx';
import { loadClient } from '../../verification/client.ts';
import { ownPins } from '../../verification/pins.ts';

/** Which machines are accepted: those that this build ships with, or somebody's own. */
export function PinsCard() {
  const pins = ownPins.use();
  const [typed, setTyped] = useState('');
  const [problem, setProblem] = useState<string>();
  const client = useQuery({ queryKey: ['client'], queryFn: loadClient, staleTime: Number.POSITIVE_INFINITY });
  const shipped = client.data?.shippedPins.gateway;
  const hasShipped = shipped?.tdx !== undefined || shipped?.sev_snp !== undefined;
  const use = (event: FormEvent): void => {
    event.preventDefault();
    if (client.data === undefined) return;
    const read = client.data.readPins(typed);
    setProblem(typeof read === 'string' ? `These are no pins: ${read}.` : undefined);
    if (typeof read !== 'string') ownPins.update(() => read);
  };
  return (
    <Card
      title="Pins"
      lead={
        pins !== undefined
          ? 'Your own pins are in force in this tab, in the playground as well.'
          : hasShipped
            ? 'Pins say which machines are accepted. Those of the releases that this build knows are in force.'
            : 'Pins say which machines are accepted. This build knows of no released image yet, so that nothing can be trusted without pins of your own.'
      }
    >
      {pins !== undefined ? (
        <Button onClick={() => ownPins.update(() => undefined)}>Use those of this build</Button>
      ) : (
        <details>
          <summary className="min-h-8 cursor-pointer text-accent">Use pins of your own</summary>
          <form onSubmit={use} className="mt-2 space-y-3">
            <TextAreaField
              label="Pins, as JSON"
              rows={5}
              spellCheck={false}
              value={typed}
              hint="The file that sotto verify --pins takes. They stay in this tab."
              error={problem}
              onChange={(event) => {
                setTyped(event.target.value);
                setProblem(undefined);
              }}
            />
            <Button type="submit" disabled={typed.trim() === '' || client.data === undefined}>
              Verify with them
            </Button>
          </form>
        </details>
      )}
    </Card>
  );
}
