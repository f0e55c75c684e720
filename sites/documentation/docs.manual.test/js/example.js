{{code 6000}}
