import type { ReactNode } from 'react';
import { RadioCards } from '../../ui/field.tsx';
import { Card } from '../../ui/surface.tsx';
import { wayWords } from '../../verification/privacy-path.tsx';
import type { Way } from './playground-search.ts';

interface WayCardProps {
  readonly way: Way;
  readonly offered: readonly Way[];
  readonly onChange: (way: Way) => void;
  /** The verification of the machine that would read content. */
  readonly children: ReactNode;
}

/** Chooses how content is sent, and shows the verification of the machine that would read it. */
export function WayCard({ way, offered, onChange, children }: WayCardProps) {
  return (
    <Card title="Privacy">
      <div className="space-y-4">
        {offered.length === 1 ? (
          <p>
            <span className="font-medium">{wayWords[way].label}</span>
            <span className="block text-sm text-muted">{wayWords[way].text}</span>
          </p>
        ) : (
          <RadioCards
            legend="Privacy mode"
            value={way}
            onChange={onChange}
            choices={offered.map((one) => ({ value: one, ...wayWords[one] }))}
          />
        )}
        {children}
      </div>
    </Card>
  );
}
