import { addressOf } from '../../api/call.ts';
import { buttonClass } from '../../ui/button.tsx';

/** A receipt as a page to print, and as a PDF. */
export function ReceiptLinks({ number }: { number: string }) {
  const path = `/billing/receipts/${encodeURIComponent(number)}`;
  return (
    <span className="inline-flex gap-1">
      <a
        href={addressOf(path, { format: 'html' })}
        target="_blank"
        rel="noreferrer"
        className={buttonClass('quiet', true)}
      >
        View<span className="sr-only"> receipt {number} in a new tab</span>
      </a>
      <a href={addressOf(path, { format: 'pdf' })} download className={buttonClass('quiet', true)}>
        PDF<span className="sr-only"> of receipt {number}</span>
      </a>
    </span>
  );
}
