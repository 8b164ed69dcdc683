import { Download } from 'lucide-react';
import { buttonClass } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Notice } from '../../ui/surface.tsx';

/** Codes for when the app is lost; shown this once. */
export function BackupCodes({ codes }: { codes: readonly string[] }) {
  const text = `${codes.join('\n')}\n`;
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`Backup codes of ${window.location.host}\n\n${text}`)}`;
  return (
    <div className="space-y-3">
      <Notice tone="warn">
        Keep these codes where you find them without your phone. Each is good once, and they are shown this once.
      </Notice>
      <ul aria-label="Backup codes" className="grid grid-cols-2 gap-x-6 gap-y-1 font-mono" data-testid="backup-codes">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        <CopyButton text={text} label="Copy the codes" />
        <a href={file} download="sotto-backup-codes.txt" className={buttonClass('plain', true)}>
          <Download aria-hidden className="size-4" />
          Download
        </a>
      </div>
    </div>
  );
}
