/* What old browsers lack; new ones load it all the same. */
if (!Array.prototype.flatMap) throw new Error('too old');
{{code 24000}}
