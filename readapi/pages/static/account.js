// Notes that are told once. Without this script the pages of signing in do all the rest.
"use strict";

(() => {
  // What an address told was told now, and what it was exchanged for is in the page: loading it again must
  // not tell it again.
  const start = () => {
    const address = new URL(location);
    for (const told of ["note", "exchange_token"]) address.searchParams.delete(told);
    history.replaceState(history.state, "", address);
  };
  start();
  document.addEventListener("shown", start);
})();
