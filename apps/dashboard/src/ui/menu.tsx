import { useRef, useState } from 'react';
import { usePart } from './lazy-page.ts';
import type { MenuProps } from './menu-list.tsx';

const loadList = () => import('./menu-list.tsx');

/** A few actions behind one button. Until its script is loaded, the button notes what the user does with it. */
export function Menu(props: MenuProps) {
  const [opensAtOnce, setOpensAtOnce] = useState(false);
  const hasFocus = useRef(false);
  const list = usePart(loadList);
  const open = (): void => {
    setOpensAtOnce(true);
    props.onOpen?.();
  };
  if (list !== undefined)
    return <list.MenuList {...props} opensAtOnce={opensAtOnce} takesFocus={hasFocus.current && !opensAtOnce} />;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: the button within takes both
    <span
      className="contents"
      onPointerDown={open}
      onClick={open}
      onFocus={() => {
        hasFocus.current = true;
      }}
      onBlur={() => {
        hasFocus.current = false;
      }}
    >
      {props.trigger}
    </span>
  );
}
