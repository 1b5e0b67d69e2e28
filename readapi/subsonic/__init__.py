"""OpenSubsonic at `/rest/`: the catalogue for music players that speak this protocol.

https://opensubsonic.netlify.app

Owns the table of methods, and the names and shapes of their answers. API keys are developer tokens.
Promises: nothing is shown, heard or written that the JSON API would refuse the same account.
Leaves to the index, the audio store and `pds`: everything that a method reads or writes.
"""
